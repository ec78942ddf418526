/*-------------------------------------------------------------------------
 *
 * fuzz_server.h
 *	  What the programs share that compile parts of the server without one.
 *
 * Included once by each of them, behind postgres.h: it defines what the server would give.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * fuzz/fuzz_server.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef FUZZ_SERVER_H
#define FUZZ_SERVER_H

#include <stdlib.h>

/* no libpgport here */
#undef fprintf
#undef printf

#ifdef USE_ASSERT_CHECKING
void
ExceptionalCondition(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
	abort();
}
#endif

/* The generator's state, not 0. */
static uint64 rng_state;

/* Starts the generator: equal seeds, equal numbers. */
static inline void
rnd_start(uint64 seed)
{
	rng_state = seed * UINT64CONST(0x9E3779B97F4A7C15) + 1;
}

/* A random number below the limit (xorshift64: G. Marsaglia, Xorshift RNGs, 2003). */
static inline uint32
rnd(uint32 limit)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32) ((rng_state >> 11) % limit);
}

#endif							/* FUZZ_SERVER_H */
