/*
 * zs_kernel.h
 *	  Loops over the values of a batch: bitmaps, comparisons, sums.
 *
 * A batch has up to 1024 rows.  A bitmap of its rows is 16 words, row i being bit i % 64 of word i
 * / 64; bits of rows that the batch does not have are 0 in all bitmaps that come out of here.
 * Values are 64 bits wide, as the codec decodes them: sign-extended integers, patterns of floats.
 *
 * Like the codec this module knows no PostgreSQL state: no Datum, palloc or ereport.  Kernels never
 * fail; one that could meet something which it must not decide reports it.  They may look at values
 * of rows that nobody selected, whatever is there, but what comes out depends on selected rows
 * only.
 */
#ifndef ZS_KERNEL_H
#define ZS_KERNEL_H

#ifdef ZS_CODEC_SHIM
#include "zs_codec_shim.h"
#else
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif
#endif

#define ZS_KERNEL_ROWS		1024
#define ZS_KERNEL_WORDS		(ZS_KERNEL_ROWS / 64)

/* Aligned as the server's allocator aligns. */
typedef __int128 zs_int128 __attribute__((aligned(8)));

typedef enum ZsCompare
{
	ZS_CMP_LT,
	ZS_CMP_LE,
	ZS_CMP_EQ,
	ZS_CMP_NE,
	ZS_CMP_GE,
	ZS_CMP_GT
} ZsCompare;

/* ---- bitmaps (kernel_bits.c) ------------------------------------------- */

static inline void
zskernel_bits_clear(uint64 *bits)
{
	memset(bits, 0, ZS_KERNEL_WORDS * sizeof(uint64));
}

static inline void
zskernel_bits_copy(uint64 *dst, const uint64 *src)
{
	memcpy(dst, src, ZS_KERNEL_WORDS * sizeof(uint64));
}

static inline bool
zskernel_bits_get(const uint64 *bits, uint32 row)
{
	return (bits[row / 64] >> (row % 64) & 1) != 0;
}

static inline void
zskernel_bits_set(uint64 *bits, uint32 row)
{
	bits[row / 64] |= UINT64CONST(1) << (row % 64);
}

static inline void
zskernel_bits_unset(uint64 *bits, uint32 row)
{
	bits[row / 64] &= ~(UINT64CONST(1) << (row % 64));
}

/* dst &= src, dst |= src, dst &= ~src */
static inline void
zskernel_bits_and(uint64 *dst, const uint64 *src)
{
	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
		dst[i] &= src[i];
}

static inline void
zskernel_bits_or(uint64 *dst, const uint64 *src)
{
	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
		dst[i] |= src[i];
}

static inline void
zskernel_bits_andnot(uint64 *dst, const uint64 *src)
{
	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
		dst[i] &= ~src[i];
}

static inline bool
zskernel_bits_any(const uint64 *bits)
{
	uint64		any = 0;

	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
		any |= bits[i];
	return any != 0;
}

/* Have the two a row in common? */
static inline bool
zskernel_bits_meet(const uint64 *a, const uint64 *b)
{
	uint64		any = 0;

	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
		any |= a[i] & b[i];
	return any != 0;
}

extern void zskernel_bits_set_range(uint64 *bits, uint32 first, uint32 count);
extern uint32 zskernel_bits_count(const uint64 *bits);
extern uint32 zskernel_bits_list(const uint64 *bits, uint16 *list);
extern void zskernel_bits_from_bytes(const uint8 *bytes, uint32 n, uint64 *bits);

/* ---- comparisons (kernel_compare.c) ------------------------------------ */

extern void zskernel_compare_int64(const int64 *values, uint32 n, ZsCompare op, int64 c,
								   uint64 *bits);
extern void zskernel_compare_uint64(const int64 *values, uint32 n, ZsCompare op, int64 c,
									uint64 *bits);
extern void zskernel_compare_float8(const int64 *values, uint32 n, ZsCompare op, double c,
									uint64 *bits);
extern void zskernel_compare_float4(const int64 *values, uint32 n, ZsCompare op, double c,
									uint64 *bits);
extern void zskernel_compare_int64s(const int64 *a, const int64 *b, uint32 n, ZsCompare op,
									uint64 *bits);

extern void zskernel_compare_uint64s(const int64 *a, const int64 *b, uint32 n, ZsCompare op,
									 uint64 *bits);
extern void zskernel_compare_float8s(const int64 *a, const int64 *b, uint32 n, ZsCompare op,
									 uint64 *bits);
extern void zskernel_in_int64(const int64 *values, uint32 n, const int64 *list, uint32 nlist,
							  uint64 *bits);
extern void zskernel_in_bitmap(const int64 *values, uint32 n, int64 low, const uint64 *bitmap,
							   uint64 nmembers, uint64 *bits);

/*
 * A Bloom filter of 2^log2_words words: a value has three bits, all in one word (F. Putze, P.
 * Sanders, J. Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007).
 */
#define ZS_BLOOM_MAX_LOG2	26

static inline uint64
zskernel_bloom_hash(int64 value)
{
	uint64		hash = (uint64) value * UINT64CONST(0x9E3779B97F4A7C15);

	hash ^= hash >> 32;
	return hash * UINT64CONST(0xD6E8FEB86659FD93);
}

static inline uint64
zskernel_bloom_mask(uint64 hash)
{
	return UINT64CONST(1) << (hash & 63) | UINT64CONST(1) << (hash >> 6 & 63) |
		UINT64CONST(1) << (hash >> 12 & 63);
}

static inline uint64
zskernel_bloom_word(uint64 hash, uint32 log2_words)
{
	return hash >> (64 - log2_words);
}

extern void zskernel_in_bloom(const int64 *values, uint32 n, const uint64 *words,
							  uint32 log2_words, uint64 *bits);
extern void zskernel_equal_uint32(const uint32 *values, uint32 n, uint32 c, uint64 *bits);
extern void zskernel_in_table(const uint32 *codes, uint32 n, const uint8 *table, uint64 *bits);

/* ---- sums (kernel_sum.c) ----------------------------------------------- */

/* Exact, of the selected values. */
extern zs_int128 zskernel_sum_int64(const int64 *values, const uint64 *sel);
extern int64 zskernel_sum_int64_narrow(const int64 *values, const uint64 *sel);

/* Smallest and largest of the selected values, of which there is at least one. */
extern int64 zskernel_min_int64(const int64 *values, const uint64 *sel);
extern int64 zskernel_max_int64(const int64 *values, const uint64 *sel);
extern double zskernel_sum_float8(const int64 *values, const uint64 *sel, double sum);
extern float zskernel_sum_float4(const int64 *values, const uint64 *sel, float sum);

/* ---- groups (kernel_group.c) ------------------------------------------ */

/* Sums by group are for so few of them. */
#define ZS_KERNEL_GROUPS	64

extern bool zskernel_group_codes(const int64 *values, const uint64 *nulls, const uint16 *list,
								 uint32 n, int64 low, uint64 count, uint32 factor, uint32 *codes);
extern bool zskernel_group_numbers(const uint32 *codes, uint32 n, const uint32 *table, uint32 none,
								   uint32 *numbers);
extern void zskernel_group_count(const uint32 *groups, uint32 n, uint32 ngroups, uint32 *counts);
extern bool zskernel_group_sum(const int64 *values, const uint16 *list, const uint32 *groups,
							   uint32 n, uint32 ngroups, int64 *sums);

/* ---- arithmetic (kernel_arith.c) --------------------------------------- */

typedef enum ZsArith
{
	ZS_ARITH_ADD,
	ZS_ARITH_SUB,
	ZS_ARITH_MUL,
	ZS_ARITH_DIV,
	ZS_ARITH_MOD				/* integers only */
} ZsArith;

extern int	zskernel_bits_of_int64(const int64 *values, uint32 n);
extern bool zskernel_add_int64(int width, const int64 *a, const int64 *b, uint32 n,
							   const uint64 *sel, int64 *out);
extern bool zskernel_sub_int64(int width, const int64 *a, const int64 *b, uint32 n,
							   const uint64 *sel, int64 *out);
extern bool zskernel_mul_int64(int width, const int64 *a, const int64 *b, uint32 n,
							   const uint64 *sel, int64 *out);
extern bool zskernel_div_int64(int width, const int64 *a, const int64 *b, uint32 n,
							   const uint64 *sel, int64 *out);
extern bool zskernel_mod_int64(const int64 *a, const int64 *b, uint32 n, const uint64 *sel,
							   int64 *out);
extern bool zskernel_neg_int64(int width, const int64 *a, uint32 n, const uint64 *sel, int64 *out);
extern bool zskernel_abs_int64(int width, const int64 *a, uint32 n, const uint64 *sel, int64 *out);

/* Are all selected values integers of width bytes?  Are they in [low, high]? */
extern bool zskernel_fits_int64(int width, const int64 *a, uint32 n, const uint64 *sel);
extern bool zskernel_in_range_int64(const int64 *a, int64 low, int64 high, uint32 n,
									const uint64 *sel);
extern bool zskernel_scale_up_int64(const int64 *a, int64 factor, uint32 n, const uint64 *sel,
									int64 *out);
extern void zskernel_round_int64(const int64 *a, int64 divisor, uint32 n, int64 *out);
extern void zskernel_floor_int64(const int64 *a, int64 divisor, uint32 n, int64 *out);

extern bool zskernel_arith_float8(ZsArith op, const int64 *a, const int64 *b, uint32 n,
								  const uint64 *sel, int64 *out);
extern bool zskernel_arith_float4(ZsArith op, const int64 *a, const int64 *b, uint32 n,
								  const uint64 *sel, int64 *out);
extern void zskernel_float8_from_int64(const int64 *a, uint32 n, int64 *out);
extern void zskernel_float4_from_int64(const int64 *a, uint32 n, int64 *out);
extern void zskernel_float8_from_float4(const int64 *a, uint32 n, int64 *out);

/*
 * out = a / power, a power of ten up to 10^22, as reading the digits would; false if a selected one
 * has too many.
 */
extern bool zskernel_float8_from_decimal(const int64 *a, double power, uint32 n, const uint64 *sel,
										 int64 *out);
extern void zskernel_flip_sign(int width, bool absolute, const int64 *a, uint32 n, int64 *out);
extern void zskernel_merge_int64(const int64 *a, const uint64 *sel, int64 *out);

/* ---- dates and times (kernel_time.c) ----------------------------------- */

typedef enum ZsDateField
{
	ZS_DATE_DAY,				/* of the month */
	ZS_DATE_DOW,				/* 0 is Sunday */
	ZS_DATE_ISODOW,				/* 7 is Sunday */
	ZS_DATE_DOY,
	ZS_DATE_WEEK,				/* of the ISO year */
	ZS_DATE_MONTH,
	ZS_DATE_QUARTER,
	ZS_DATE_YEAR,
	ZS_DATE_ISOYEAR,
	ZS_DATE_DECADE,
	ZS_DATE_CENTURY,
	ZS_DATE_MILLENNIUM
} ZsDateField;

/* Days since 2000-01-01 for which the next two are right: of the years 1 to 9999. */
#define ZS_DATE_FIRST	(-730119)
#define ZS_DATE_LAST	2921939

extern void zskernel_date_field(ZsDateField field, const int64 *days, const uint64 *rows,
								int64 *out);
extern void zskernel_date_begin(ZsDateField field, const int64 *days, const uint64 *rows,
								int64 *out);
extern void zskernel_floor_to_int64(const int64 *a, int64 unit, uint32 n, int64 *out);
extern void zskernel_part_of_int64(const int64 *a, int64 unit, int64 modulus, uint32 n, int64 *out);

/* ---- strings (kernel_string.c) ----------------------------------------- */

/*
 * A pattern of LIKE without "_": what stands between its "%"; one piece if there is none.  min_len
 * is the sum of their lengths; those between the first and the last one are not empty.
 */
typedef struct ZsLikePattern
{
	int			npieces;
	const char **pieces;
	size_t	   *lens;
	size_t		min_len;
} ZsLikePattern;

extern bool zskernel_like(const ZsLikePattern *pattern, const char *bytes, size_t len);

extern bool zskernel_is_ascii(const char *bytes, size_t len);
extern uint64 zskernel_hash(const char *bytes, size_t len);

static inline double
zskernel_float8(int64 pattern)
{
	double		value;

	memcpy(&value, &pattern, sizeof(value));
	return value;
}

static inline float
zskernel_float4(int64 pattern)
{
	uint32		bits = (uint32) pattern;
	float		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif							/* ZS_KERNEL_H */
