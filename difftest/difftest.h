/*
 * difftest.h
 *		Random differential tests of zedstore tables against heap tables.
 *
 * The problem: the table access method is reached by every statement of the
 * server, in every order.  Tests written by hand cover the orders somebody
 * thought of.
 *
 * The idea, sequential mode (sequential.c): two databases that differ in
 * default_table_access_method only.  Random statements, the same text for both,
 * run in both, and must give the same rows, counts and errors.  Each side has
 * several sessions, so that old snapshots, row locks, waits and rechecks
 * (EvalPlanQual) occur, but never two statements whose order the server would
 * choose.  The statements depend on the seed and on the server's answers only,
 * so a seed gives the same run again.
 *
 * Concurrent mode (concurrent.c): many sessions at once in one database, where
 * each transaction does to a heap table what it does to a zedstore table, and
 * invariants hold in every snapshot.  Not repeatable, a seed only chooses what
 * is done.
 *
 * What may legitimately differ is avoided when statements are made: the order
 * of rows without a total ORDER BY, which of equal but distinct values (1.0 and
 * 1.00) a query shows, sums of floats, TIDs, transaction ids, and whatever
 * depends on the order in which a statement visits its rows.
 */
#ifndef DIFFTEST_H
#define DIFFTEST_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define lengthof(array) (sizeof(array) / sizeof((array)[0]))

/* ---- util.c: random numbers, strings, the log */

extern void rng_seed(uint64_t seed);
extern uint64_t rng64(void);
extern int	rnd(int lo, int hi);	/* both included */
extern bool chance(int percent);

#define pick(array) ((array)[rnd(0, (int) lengthof(array) - 1)])

/* Strings that live until the next step, see forget_strings(). */
extern char *S(const char *format,...) PRINTF(1, 2);
extern void forget_strings(void);

typedef struct Buf
{
	char	   *data;
	size_t		len;
	size_t		size;
} Buf;

extern void buf_add(Buf *buf, const char *format,...) PRINTF(2, 3);
extern void buf_bytes(Buf *buf, const char *bytes, size_t len);
extern void buf_clear(Buf *buf);
extern void buf_free(Buf *buf);
extern double now_seconds(void);

/* ---- main.c: what was asked for, and the end of it */

typedef struct Options
{
	const char *conninfo;
	const char *log_dir;
	uint64_t	seed;
	int			seconds;		/* 0: as many rounds as asked for */
	int			rounds;
	int			steps;			/* of a sequential round */
	int			sessions;		/* of a concurrent round */
	int			phase_seconds;	/* of a concurrent round */
	int			rehearsals;		/* percent of the statements of both() */
	bool		crash;			/* kill -9 backends in concurrent rounds */
	bool		keep_going;
	bool		verbose;
} Options;

extern Options options;

/* Says what went wrong, in the log and on stderr; the caller gives up its round. */
extern void difference(const char *format,...) PRINTF(1, 2);
extern bool round_failed;
extern void log_line(const char *format,...) PRINTF(1, 2);
extern void log_open(const char *kind, uint64_t seed);
extern void log_close(bool keep);
extern void fatal(const char *format,...) PRINTF(1, 2) __attribute__((noreturn));

extern int	server_version;
extern PGconn *connect_to(const char *dbname, const char *settings);
extern void exec_or_die(PGconn *conn, const char *sql);

/* ---- twins.c: the sessions of both sides */

typedef enum Side
{
	HEAP,
	ZED
} Side;

#define NSESSIONS 3

/* How to compare the rows of a statement. */
typedef enum Compare
{
	CMP_ROWS,					/* the same rows in any order */
	CMP_ORDER,					/* in the same order */
	CMP_TAG						/* command tag or error only */
} Compare;

extern void twins_connect(void);
extern void twins_disconnect(void);
extern void twins_reset(void);

/*
 * Runs a statement on both sides, and reports a difference.  True if it
 * succeeded.  $AM stands for the side's access method, $SIDE for h or z.
 */
extern bool both(int session, Compare compare, const char *sql);

/*
 * The same for expressions that may raise an error.  Plans of the query that find or join rows in
 * different ways may raise different ones, or none.  With same_order rows are looked at in the
 * same order, so the first error must be the same, too.
 */
extern bool both_alike(int session, Compare compare, const char *sql, const char *query,
					   bool same_order);
extern bool both_copy_in(int session, const char *sql, const char *data, size_t len);
extern void both_send(int session, const char *sql);
extern void both_wait_blocked(int session);
extern bool both_finish(int session, Compare compare);
extern bool one_side(Side side, int session, const char *sql);

/* First column of the first row of the heap side, NULL if none. */
extern char *ask(const char *sql);
extern PGresult *ask_rows(int session, const char *sql);
extern bool copy_out(const char *sql, Buf *data);

/* Reports rows, which name problems, that a query of the zedstore side returns. */
extern void expect_nothing(int session, const char *sql);

/*
 * Runs a query on the zedstore side in each way in which plans by batches can go, and without them, one process and one order of
 * rows; reports a difference.  Not for queries that show sorted or distinct values of which there are several.
 */
extern void compare_modes(int session, const char *sql);
extern PGTransactionStatusType status_of(int session);
extern long statements_run;
extern long statements_failed;
extern long rehearsals_run;
extern long rehearsals_interrupted;
extern long statements_apart;	/* of both_alike(): not alike, and the plans differ */

/* ---- types.c */

typedef enum TypeFlags
{
	T_BTREE = 1,
	T_HASH = 2,
	T_INEXACT = 4,				/* equal values may look different */
	T_TEXT = 8,					/* LIKE, ||, length() */
	T_NUMBER = 16,
	T_JSONB = 32,
	T_ARRAY = 64,
	T_RANGE = 128,
	T_TSVECTOR = 256,
	T_INET = 512,
	T_POINT = 1024,
	T_OWN = 2048,				/* created by the test: OIDs in binary form */
	T_MINMAX = 4096				/* has min() and max() */
} TypeFlags;

typedef struct Type
{
	const char *name;			/* as format_type() writes it */
	int			flags;
	int			kind;
} Type;

extern const Type types[];
extern const int ntypes;
extern const Type *type_by_name(const char *name);
extern const Type *random_type(void);
extern const char *types_ddl;

/* A constant as SQL; may_be_big: up to 100 kB, rarely more. */
extern char *literal(const Type *type, bool may_be_big);

/* An expression of the int4 expression g. */
extern char *series(const Type *type, const char *g);

/* ---- model.c: the tables there are, from the catalogs of the heap side */

#define MAX_COLUMNS 64
#define MAX_TABLES 24
#define MAX_INDEXES 64

typedef struct Column
{
	char		name[64];
	const Type *type;			/* NULL: none of ours */
	bool		notnull;
	bool		generated;
	bool		identity;
	bool		is_ref;			/* of a foreign key */
} Column;

typedef struct Table
{
	char		name[64];
	char		kind;			/* relkind */
	bool		is_partition;
	bool		unique_id;		/* id is unique at any time */
	bool		invalid_index;	/* of a CREATE INDEX CONCURRENTLY that failed */
	int			ncolumns;
	Column		columns[MAX_COLUMNS];
} Table;

typedef struct Index
{
	char		name[64];
	char		table[64];
	bool		of_constraint;
	bool		unique;
} Index;

extern Table tables[MAX_TABLES];
extern int	ntables;
extern Index indexes[MAX_INDEXES];
extern int	nindexes;
extern bool model_is_stale;
extern void model_load(void);
extern Table *random_table(void);	/* NULL if none */
extern Column *random_column(Table *table, int flags);	/* of a type with one of the flags, or any for 0 */
extern Index *random_index(void);
extern int	fresh_ids(int n);	/* first of n ids that no table has */
extern int	used_ids(int last);	/* says that tables may have all up to this one; returns it */
extern int	some_id(void);
extern void reset_ids(void);

/* ---- query.c */

extern char *some_columns(Table *table, const char *alias);
extern char *predicate(Table *table, const char *alias, int depth);
extern void step_query(int session);
extern void check_tids(int session);
extern char *hash_of(Table *table);
extern char *total_order(Table *table, const char *alias);

/* ---- analytic.c */

extern char *analytic_condition(Table *table, const char *alias);
extern void step_analytic(int session);
extern void step_analytic_cursor(int session, Table *table);

/* ---- subquery.c */

extern void step_subquery(int session);

/* ---- joins.c */

extern void joins_round(uint64_t seed);

/* ---- errors.c */

extern void errors_round(uint64_t seed);

/* ---- motion.c: small tables, rows that move, cursors */

extern void create_small_tables(void);
extern void step_small(int session);
extern void step_motion(void);
extern void step_cursor(void);

/* ---- order.c */

extern void step_order(void);

/* ---- dml.c */

extern void step_dml(int session);
extern void step_insert(int session);
extern char *assignments(Table *table, const char *alias);
extern char *insert_values(Table *table);
extern char *column_list(Table *table, char **series_of_g);

/* ---- ddl.c */

extern void create_world(void);
extern void step_ddl(void);
extern void step_index(void);
extern void step_maintenance(void);
extern void random_settings(int session);

/* ---- rounds */

extern void sequential_round(uint64_t seed);
extern void end_guests(void);
extern void begin_transaction(int session, const char *level);
extern void concurrent_round(uint64_t seed);
extern void prepare_sequential(void);
extern void prepare_concurrent(void);

#endif
