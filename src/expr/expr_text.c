/*-------------------------------------------------------------------------
 *
 * expr_text.c
 *	  Functions of strings with constant other arguments.
 *
 * Core's function is called: once for each entry of a dictionary that is in use, and for each row
 * where there is none.  Only the length of ASCII strings is found without it.  Only functions and
 * constants are taken with which it cannot raise an error, whatever the string; so it does not
 * matter that it is called for some batch at once.  Results that are strings have the codes of the
 * argument, if that has any, under a dictionary of their own.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "expr_run.h"

typedef struct TextFunction
{
	Oid			funcid;
	ZsDomain	arg;
	ZsDomain	domain;
	int			nargs;
	int			positive;		/* this argument, a constant, has to be at least 0; 0: none */
	bool		is_length;		/* counts characters */
} TextFunction;

static const TextFunction functions[] = {
	{F_SUBSTRING_TEXT_INT4_INT4, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 3, 2},
	{F_SUBSTRING_TEXT_INT4, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 2, 0},
	{F_SUBSTR_TEXT_INT4_INT4, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 3, 2},
	{F_SUBSTR_TEXT_INT4, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 2, 0},
	{F_LEFT, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 2, 0},
	{F_RIGHT, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 2, 0},
	{F_TEXT_BPCHAR, ZS_DOMAIN_BPCHAR, ZS_DOMAIN_TEXT, 1, 0},
	{F_LENGTH_TEXT, ZS_DOMAIN_TEXT, ZS_DOMAIN_INT, 1, 0, true},
	{F_LENGTH_BPCHAR, ZS_DOMAIN_BPCHAR, ZS_DOMAIN_INT, 1, 0, true},
	{F_CHAR_LENGTH_TEXT, ZS_DOMAIN_TEXT, ZS_DOMAIN_INT, 1, 0, true},
	{F_CHARACTER_LENGTH_TEXT, ZS_DOMAIN_TEXT, ZS_DOMAIN_INT, 1, 0, true},
	{F_OCTET_LENGTH_TEXT, ZS_DOMAIN_TEXT, ZS_DOMAIN_INT, 1, 0},
	{F_UPPER_TEXT, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 1, 0},
	{F_LOWER_TEXT, ZS_DOMAIN_TEXT, ZS_DOMAIN_TEXT, 1, 0},
};

struct ZsTextCall
{
	FmgrInfo	finfo;
	Oid			collation;
	bool		is_length;
	NullableDatum args[3];		/* the first one is the string */
};

/* ---- compile ----------------------------------------------------------------- */

/* A call of such a function, or NULL; arg is its first argument. */
ZsExpr *
zsexpr_compile_text(ZsCompiler *compiler, Oid funcid, List *args, Oid collation, ZsExpr *arg)
{
	const TextFunction *function = NULL;
	ZsExpr	   *expr;
	ZsTextCall *call;

	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].funcid == funcid)
			function = &functions[i];
	}
	if (function == NULL || arg == NULL || arg->domain != function->arg ||
		list_length(args) != function->nargs)
		return NULL;
	if ((funcid == F_UPPER_TEXT || funcid == F_LOWER_TEXT) && !OidIsValid(collation))
		return NULL;
	call = palloc0(sizeof(ZsTextCall));
	for (int i = 1; i < function->nargs; i++)
	{
		const Const *c = list_nth(args, i);

		if (!IsA(c, Const) || c->constisnull || c->consttype != INT4OID)
			return NULL;
		if (i == function->positive && DatumGetInt32(c->constvalue) < 0)
			return NULL;
		call->args[i].value = c->constvalue;
	}
	fmgr_info(funcid, &call->finfo);
	Assert(call->finfo.fn_nargs == function->nargs);
	call->collation = collation;
	call->is_length = function->is_length;
	expr = zsexpr_make(ZS_EXPR_TEXT_CALL, function->domain,
					   function->domain == ZS_DOMAIN_INT ? sizeof(int32) : 0, 1);
	expr->call = call;
	expr->nmakers = zsexpr_compiler_add_maker(compiler);
	expr->args[expr->nargs++] = arg;
	return expr;
}

/* Is it one of the functions of strings that are known here? */
bool
zsexpr_is_text_function(Oid funcid)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].funcid == funcid)
			return true;
	}
	return false;
}

/* ---- run ------------------------------------------------------------------------ */

/* What core's function says of a string; strings live in the context of what is kept. */
static uint64
call_function(const ZsExpr *expr, uint64 datum)
{
	ZsTextCall *call = expr->call;
	MemoryContext old;
	LOCAL_FCINFO(fcinfo, 3);
	Datum		result;

	old = MemoryContextSwitchTo(expr->kept.context);
	InitFunctionCallInfoData(*fcinfo, &call->finfo, call->finfo.fn_nargs, call->collation, NULL,
							 NULL);
	for (int i = 1; i < call->finfo.fn_nargs; i++)
		fcinfo->args[i] = call->args[i];
	fcinfo->args[0].value = (Datum) datum;
	fcinfo->args[0].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		elog(ERROR, "function %u returned NULL", call->finfo.fn_oid);
	MemoryContextSwitchTo(old);
	return expr->domain == ZS_DOMAIN_INT ? (uint64) (int64) DatumGetInt32(result) : (uint64) result;
}

/*
 * The function's value for a string.  ASCII is counted here, as characters are in core's functions,
 * one by one, which takes ten times as long.
 */
static inline uint64
value_for(const ZsExpr *expr, uint64 datum)
{
	if (expr->call->is_length)
	{
		const char *bytes = VARDATA_ANY(DatumGetPointer(datum));
		size_t		len = zsexpr_compared_length(expr->args[0]->domain, bytes,
												 VARSIZE_ANY_EXHDR(DatumGetPointer(datum)));

		if (zskernel_is_ascii(bytes, len))
			return (uint64) len;
	}
	return call_function(expr, datum);
}

/*
 * Computes the call's vector, which was started, for rows that have strings.  batch: its serial.
 * False: its strings would take too much memory.
 */
bool
zsexpr_run_text(ZsExpr *expr, uint64 batch, const ZsColumnVector *arg, const uint64 *rows)
{
	ZsKeptResults *kept = &expr->kept;
	Size		limit = zsexpr_string_limit(expr);
	bool		fits = true;

	Assert(expr->kind == ZS_EXPR_TEXT_CALL && batch != 0);
	Assert(arg->codes != NULL || arg->datums != NULL);
	zsexpr_start_kept(expr, batch, arg->codes != NULL ? arg : NULL);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			if (arg->codes != NULL)
			{
				uint32		code = arg->codes[row];

				if (!kept->known[code])
				{
					kept->results[code] = value_for(expr, arg->dict[code]);
					kept->known[code] = true;
					fits = MemoryContextMemAllocated(kept->context, false) <= limit;
				}
				expr->vals[row] = (int64) kept->results[code];
			}
			else
			{
				zsexpr_fetch_ahead(arg->datums, row);
				expr->vals[row] = (int64) value_for(expr, arg->datums[row]);
				fits = MemoryContextMemAllocated(kept->context, false) <= limit;
			}
			if (!fits)
				return false;
		}
	}
	if (expr->domain == ZS_DOMAIN_INT)
		return true;
	if (arg->codes != NULL)
		zsexpr_give_entries(expr, arg);
	else
		expr->vector.datums = (const uint64 *) expr->vals;
	return true;
}
