/*
 * main.c
 *		Options, the log, and the loop over rounds.
 */
#include "difftest.h"

#include <getopt.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

Options		options = {
	.conninfo = "",
	.log_dir = "difftest-logs",
	.seed = 1,
	.rounds = 1,
	.steps = 400,
	.sessions = 6,
	.phase_seconds = 10,
	.rehearsals = 2,
};
int			server_version;
bool		round_failed;

static FILE *log_file;
static char log_path[1024];

/* ---- messages */

void
log_open(const char *kind, uint64_t seed)
{
	mkdir(options.log_dir, 0777);
	snprintf(log_path, sizeof(log_path), "%s/%s-%llu.log", options.log_dir, kind,
			 (unsigned long long) seed);
	log_file = fopen(log_path, "w");
	if (log_file == NULL)
		fatal("cannot write %s", log_path);
}

/* Only logs of rounds that found something stay. */
void
log_close(bool keep)
{
	fclose(log_file);
	log_file = NULL;
	if (!keep)
		unlink(log_path);
}

void
log_line(const char *format,...)
{
	va_list		args;

	if (log_file == NULL)
		return;
	flockfile(log_file);
	va_start(args, format);
	vfprintf(log_file, format, args);
	va_end(args);
	fputc('\n', log_file);
	fflush(log_file);
	funlockfile(log_file);
}

void
difference(const char *format,...)
{
	va_list		args;
	Buf			text = {0};
	char		line[4096];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	buf_add(&text, "DIFFERENCE: %s", line);
	log_line("%s", text.data);
	if (!round_failed)
		fprintf(stderr, "%s\n  log: %s\n", text.data, log_path);
	buf_free(&text);
	round_failed = true;
}

void
fatal(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	fprintf(stderr, "difftest: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

/* ---- connections */

PGconn *
connect_to(const char *dbname, const char *settings)
{
	char		conninfo[1024];
	PGconn	   *conn;

	snprintf(conninfo, sizeof(conninfo), "%s dbname=%s application_name=difftest", options.conninfo,
			 dbname);
	conn = PQconnectdb(conninfo);
	if (PQstatus(conn) != CONNECTION_OK)
		fatal("%s", PQerrorMessage(conn));
	if (settings[0] != '\0')
		exec_or_die(conn, settings);
	return conn;
}

void
exec_or_die(PGconn *conn, const char *sql)
{
	PGresult   *res = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(res);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fatal("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

/* ---- rounds */

static void
usage(void)
{
	printf("difftest [OPTION]... [sequential|concurrent|both|joins|errors]\n"
		   "  --conninfo=STRING   the server; databases difftest_* are created in it\n"
		   "  --seed=N            of the first round, the next one has N + 1 (1)\n"
		   "  --rounds=N          (1)\n"
		   "  --seconds=N         as many rounds as fit\n"
		   "  --steps=N           of a sequential round (400)\n"
		   "  --sessions=N        of a concurrent round (6)\n"
		   "  --phase=SECONDS     length of a concurrent round (10)\n"
		   "  --rehearsals=N      so many of a hundred statements are run, interrupted and rolled back first (2)\n"
		   "  --crash             concurrent rounds kill -9 server processes (same user, same machine)\n"
		   "  --keep-going        go on with the next seed after a difference\n"
		   "  --logs=FOLDER       for the statements of rounds that found a difference (difftest-logs)\n"
		   "The exit status is 1 after a difference.\n");
}

int
main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{"conninfo", required_argument, NULL, 'c'}, {"seed", required_argument, NULL, 's'},
		{"rounds", required_argument, NULL, 'r'}, {"seconds", required_argument, NULL, 't'},
		{"steps", required_argument, NULL, 'n'}, {"sessions", required_argument, NULL, 'k'},
		{"phase", required_argument, NULL, 'p'}, {"rehearsals", required_argument, NULL, 'i'},
		{"crash", no_argument, NULL, 'x'},
		{"keep-going", no_argument, NULL, 'g'}, {"logs", required_argument, NULL, 'l'},
		{"verbose", no_argument, NULL, 'v'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}
	};
	int			c;
	const char *mode;
	bool		sequential;
	bool		concurrent;
	bool		joins;
	bool		errors;
	int			failed = 0;
	int			round;
	double		began = now_seconds();
	double		last_said = began;
	PGconn	   *conn;

	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1)
	{
		switch (c)
		{
			case 'c':
				options.conninfo = optarg;
				break;
			case 's':
				options.seed = strtoull(optarg, NULL, 10);
				break;
			case 'r':
				options.rounds = atoi(optarg);
				break;
			case 't':
				options.seconds = atoi(optarg);
				break;
			case 'n':
				options.steps = atoi(optarg);
				break;
			case 'k':
				options.sessions = atoi(optarg);
				break;
			case 'p':
				options.phase_seconds = atoi(optarg);
				break;
			case 'i':
				options.rehearsals = atoi(optarg);
				break;
			case 'x':
				options.crash = true;
				break;
			case 'g':
				options.keep_going = true;
				break;
			case 'l':
				options.log_dir = optarg;
				break;
			case 'v':
				options.verbose = true;
				break;
			default:
				usage();
				return c == 'h' ? 0 : 2;
		}
	}
	mode = optind < argc ? argv[optind] : "both";
	sequential = strcmp(mode, "sequential") == 0 || strcmp(mode, "both") == 0;
	concurrent = strcmp(mode, "concurrent") == 0 || strcmp(mode, "both") == 0;
	joins = strcmp(mode, "joins") == 0;
	errors = strcmp(mode, "errors") == 0;
	if (!sequential && !concurrent && !joins && !errors)
	{
		usage();
		return 2;
	}

	conn = connect_to("postgres", "");
	server_version = PQserverVersion(conn);
	PQfinish(conn);
	if (sequential || joins || errors)
		prepare_sequential();
	if (concurrent)
		prepare_concurrent();

	for (round = 0; options.seconds > 0 ? now_seconds() - began < options.seconds :
		 round < options.rounds; round++)
	{
		uint64_t	seed = options.seed + (uint64_t) round;
		/*
		 * with both, every third round is concurrent; the seed decides, so that it can be repeated
		 * alone
		 */
		bool		is_concurrent = concurrent && (!sequential || seed % 3 == 0);
		const char *kind = joins ? "joins" : errors ? "errors" : is_concurrent ? "concurrent" :
			"sequential";

		if (now_seconds() - last_said > 60)
		{
			last_said = now_seconds();
			fprintf(stderr, "%.0f s: %d rounds, %d with a difference, %ld statements\n",
					last_said - began, round, failed, statements_run);
		}
		round_failed = false;
		log_open(kind, seed);
		if (joins)
			joins_round(seed);
		else if (errors)
			errors_round(seed);
		else if (is_concurrent)
			concurrent_round(seed);
		else
			sequential_round(seed);
		log_close(round_failed || options.verbose);
		if (round_failed)
		{
			failed++;
			fprintf(stderr, "  again: difftest --seed=%llu --steps=%d %s\n",
					(unsigned long long) seed, options.steps,
					kind);
			if (!options.keep_going)
			{
				round++;
				break;
			}
		}
	}
	if (statements_apart > 0)
		printf("%ld statements raised something else, whose plans differ\n", statements_apart);
	if (rehearsals_run > 0)
		printf("%ld rehearsals, %ld of them interrupted\n", rehearsals_run, rehearsals_interrupted);
	printf("%d rounds, %d with a difference; %ld statements, %ld of them errors; %.0f s\n", round,
		   failed, statements_run,
		   statements_failed, now_seconds() - began);
	return failed > 0;
}
