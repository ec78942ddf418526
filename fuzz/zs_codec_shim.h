/*
 * zs_codec_shim.h
 *	  What the codec needs of PostgreSQL's headers, for building its tests where these are not
 *	  installed.
 */
#ifndef ZS_CODEC_SHIM_H
#define ZS_CODEC_SHIM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int8_t int8;
typedef int16_t int16;
typedef int32_t int32;
typedef int64_t int64;
typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint64_t uint64;

#ifndef Assert
#define Assert(c) assert(c)
#endif
#define StaticAssertDecl(c, m) _Static_assert(c, m)
#define likely(x) __builtin_expect((x) != 0, 1)
#define unlikely(x) __builtin_expect((x) != 0, 0)
#define lengthof(a) (sizeof(a) / sizeof((a)[0]))
#define Min(a, b) ((a) < (b) ? (a) : (b))
#define Max(a, b) ((a) > (b) ? (a) : (b))
#define pg_attribute_always_inline __attribute__((always_inline)) inline
#define pg_noinline __attribute__((noinline))
#define INT64CONST(x) (x##L)
#define UINT64CONST(x) (x##UL)
#define qsort_arg(base, n, size, compare, arg) qsort_r((base), (n), (size), (compare), (arg))
#define PG_INT64_MIN INT64_MIN
#define PG_INT64_MAX INT64_MAX
#define PG_UINT64_MAX UINT64_MAX

#endif							/* ZS_CODEC_SHIM_H */
