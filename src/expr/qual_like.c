/*-------------------------------------------------------------------------
 *
 * qual_like.c
 *	  LIKE, ILIKE and regular expressions with constant patterns.
 *
 * Where bytes may be compared, a pattern without "_" is cut into pieces, which are looked for
 * (kernel_string.c).  For others core's function is called.  Either way this happens once for each
 * entry of a dictionary, if there is one.  A pattern that ends within an escape is core's, which
 * raises an error for it, and so is one that is no regular expression.
 *
 * A bpchar keeps its blanks here, as in core.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_like.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "nodes/primnodes.h"
#include "regex/regex.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "qual_internal.h"

typedef struct LikeFunction
{
	Oid			funcid;
	ZsCompare	op;
	ZsDomain	domain;
	PGFunction	call;			/* core's, which says whether a string matches */
	int			regex_flags;	/* -1: LIKE */
} LikeFunction;

static const LikeFunction functions[] = {
	{F_TEXTLIKE, ZS_CMP_EQ, ZS_DOMAIN_TEXT, textlike, -1},
	{F_TEXTNLIKE, ZS_CMP_NE, ZS_DOMAIN_TEXT, textlike, -1},
	{F_LIKE_TEXT_TEXT, ZS_CMP_EQ, ZS_DOMAIN_TEXT, textlike, -1},
	{F_NOTLIKE_TEXT_TEXT, ZS_CMP_NE, ZS_DOMAIN_TEXT, textlike, -1},
	{F_BPCHARLIKE, ZS_CMP_EQ, ZS_DOMAIN_BPCHAR, textlike, -1},
	{F_BPCHARNLIKE, ZS_CMP_NE, ZS_DOMAIN_BPCHAR, textlike, -1},
	{F_STARTS_WITH, ZS_CMP_EQ, ZS_DOMAIN_TEXT, text_starts_with, -1},
	{F_TEXTICLIKE, ZS_CMP_EQ, ZS_DOMAIN_TEXT, texticlike, -1},
	{F_TEXTICNLIKE, ZS_CMP_NE, ZS_DOMAIN_TEXT, texticlike, -1},
	{F_BPCHARICLIKE, ZS_CMP_EQ, ZS_DOMAIN_BPCHAR, texticlike, -1},
	{F_BPCHARICNLIKE, ZS_CMP_NE, ZS_DOMAIN_BPCHAR, texticlike, -1},
	{F_TEXTREGEXEQ, ZS_CMP_EQ, ZS_DOMAIN_TEXT, textregexeq, REG_ADVANCED},
	{F_TEXTREGEXNE, ZS_CMP_NE, ZS_DOMAIN_TEXT, textregexeq, REG_ADVANCED},
	{F_TEXTICREGEXEQ, ZS_CMP_EQ, ZS_DOMAIN_TEXT, texticregexeq, REG_ADVANCED | REG_ICASE},
	{F_TEXTICREGEXNE, ZS_CMP_NE, ZS_DOMAIN_TEXT, texticregexeq, REG_ADVANCED | REG_ICASE},
	{F_BPCHARREGEXEQ, ZS_CMP_EQ, ZS_DOMAIN_BPCHAR, textregexeq, REG_ADVANCED},
	{F_BPCHARREGEXNE, ZS_CMP_NE, ZS_DOMAIN_BPCHAR, textregexeq, REG_ADVANCED},
	{F_BPCHARICREGEXEQ, ZS_CMP_EQ, ZS_DOMAIN_BPCHAR, texticregexeq, REG_ADVANCED | REG_ICASE},
	{F_BPCHARICREGEXNE, ZS_CMP_NE, ZS_DOMAIN_BPCHAR, texticregexeq, REG_ADVANCED | REG_ICASE},
};

/* Does no character's encoding appear within another one's? */
static bool
bytes_are_safe(void)
{
	return GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}

/* Adds what stands between two of the "%" of a pattern. */
static void
add_piece(ZsLikePattern *like, const char *bytes, size_t len, bool is_last)
{
	/* neighbouring "%" are one */
	if (len == 0 && like->npieces > 0 && !is_last)
		return;
	like->pieces[like->npieces] = bytes;
	like->lens[like->npieces++] = len;
	like->min_len += len;
}

/*
 * Cuts the pattern into pieces, of which there are none if it has a "_" or bytes may not be
 * compared.  False if it ends within an escape.
 */
static bool
cut_pattern(const char *pattern, size_t len, ZsLikePattern *like)
{
	char	   *bytes = palloc(len + 1);
	size_t		used = 0;
	size_t		begin = 0;
	bool		plain = bytes_are_safe();

	like->pieces = palloc((len + 1) * sizeof(char *));
	like->lens = palloc((len + 1) * sizeof(size_t));
	for (size_t i = 0; i < len; i++)
	{
		if (pattern[i] == '%')
		{
			add_piece(like, bytes + begin, used - begin, false);
			begin = used;
			continue;
		}
		if (pattern[i] == '_')
			plain = false;
		if (pattern[i] == '\\' && ++i == len)
			return false;
		bytes[used++] = pattern[i];
	}
	add_piece(like, bytes + begin, used - begin, true);
	Assert(used <= len && (size_t) like->npieces <= len + 1);
	if (!plain)
		like->npieces = 0;
	return true;
}

/* Would core take it for a regular expression? */
static bool
is_regex(const char *pattern, size_t len, int flags, Oid collation)
{
	pg_wchar   *wide = palloc((len + 1) * sizeof(pg_wchar));
	int			nwide = pg_mb2wchar_with_len(pattern, wide, (int) len);
	regex_t		regex;
	bool		ok = pg_regcomp(&regex, wide, nwide, flags, collation) == REG_OKAY;

	if (ok)
		pg_regfree(&regex);
	pfree(wide);
	return ok;
}

/* What we know of the function of LIKE; NULL: nothing. */
static const LikeFunction *
find_function(Oid funcid)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].funcid == funcid)
			return &functions[i];
	}
	return NULL;
}

/* Is it a function of LIKE or the like? */
bool
zsexpr_qual_is_like_function(Oid funcid)
{
	return find_function(funcid) != NULL;
}

/* Such a function with these arguments; NULL if there is no program. */
ZsQual *
zsexpr_qual_compile_like(ZsCompiler *compiler, Oid funcid, List *args, Oid collation)
{
	const LikeFunction *function = find_function(funcid);
	ZsDomain	domain;
	AttrNumber	attno;
	const Const *c;
	struct varlena *pattern;
	ZsExpr	   *expr = NULL;
	ZsQual	   *qual;

	if (function == NULL || !OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return NULL;
	Assert(list_length(args) == 2);
	attno = zsexpr_compiler_column(compiler, linitial(args), &domain);
	c = lsecond(args);
	if (attno == InvalidAttrNumber)
	{
		expr = zsexpr_compile_node(compiler, linitial(args));
		if (expr != NULL)
			domain = zsexpr_domain(expr);
	}
	if (domain != function->domain || !IsA(c, Const))
		return NULL;
	/* an expression is evaluated whatever the pattern is */
	if (c->constisnull && expr == NULL)
		return zsexpr_qual_make_const(true, false);

	qual = palloc0(sizeof(ZsQual));
	qual->kind = ZS_QUAL_LIKE;
	qual->attno = attno;
	qual->expr = expr;
	qual->domain = domain;
	qual->op = function->op;
	qual->collation = collation;
	qual->match = function->call;
	qual->no_pattern = c->constisnull;
	qual->no_table = !zsexpr_compiler_add_string(compiler);
	if (qual->no_pattern)
		return qual;
	pattern = PG_DETOAST_DATUM_COPY(c->constvalue);
	qual->pattern = PointerGetDatum(pattern);
	if (funcid == F_STARTS_WITH)
	{
		qual->like.pieces = palloc(2 * sizeof(char *));
		qual->like.lens = palloc(2 * sizeof(size_t));
		add_piece(&qual->like, VARDATA_ANY(pattern), VARSIZE_ANY_EXHDR(pattern), false);
		add_piece(&qual->like, VARDATA_ANY(pattern), 0, true);
	}
	else if (function->regex_flags >= 0)
	{
		if (!is_regex(VARDATA_ANY(pattern), VARSIZE_ANY_EXHDR(pattern), function->regex_flags,
					  collation))
			return NULL;
	}
	else if (!cut_pattern(VARDATA_ANY(pattern), VARSIZE_ANY_EXHDR(pattern), &qual->like))
		return NULL;
	if (function->call == texticlike)
		qual->like.npieces = 0;
	return qual;
}

/* Does the string at datum match the pattern of LIKE? */
bool
zsexpr_qual_is_like(ZsQual *qual, uint64 datum)
{
	MemoryContext old;
	bool		result;

	Assert(qual->kind == ZS_QUAL_LIKE && !qual->no_pattern);
	if (qual->like.npieces > 0)
		return zskernel_like(&qual->like, VARDATA_ANY(DatumGetPointer(datum)),
							 VARSIZE_ANY_EXHDR(DatumGetPointer(datum)));
	if (qual->match_context == NULL)
		qual->match_context = AllocSetContextCreate(GetMemoryChunkContext(qual), "zedstore pattern",
													ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(qual->match_context);
	result = DatumGetBool(DirectFunctionCall2Coll(qual->match, qual->collation, (Datum) datum,
												  qual->pattern));
	MemoryContextSwitchTo(old);
	MemoryContextReset(qual->match_context);
	return result;
}
