/*-------------------------------------------------------------------------
 *
 * kernel_internal.h
 *	  Private to src/kernel.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef KERNEL_INTERNAL_H
#define KERNEL_INTERNAL_H

#include "zs_kernel.h"

/* Loops whose length is not known become vector instructions only so. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Compiled twice, as the codec's hot loops are (codec_internal.h). */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(ZS_NO_CLONES)
#if __GNUC__ >= 12
#define KERNEL_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define KERNEL_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#else
#define KERNEL_CLONES
#endif

/* 8 bytes of which each is 0 or 1, the first one becoming the lowest bit. */
static inline uint64
pack8(const uint8 *bytes)
{
	uint64		x;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&x, bytes, sizeof(x));
	return (x * UINT64CONST(0x0102040810204080)) >> 56;
#else
	x = 0;
	for (int i = 0; i < 8; i++)
		x |= (uint64) bytes[i] << i;
	return x;
#endif
}

static inline uint64
pack64(const uint8 *bytes)
{
	uint64		word = 0;

	for (int i = 0; i < 8; i++)
		word |= pack8(bytes + i * 8) << (i * 8);
	return word;
}

/*
 * Fills bits with the truth of `test`, an expression in i, for rows below n.  Whole words go by a
 * loop of known length, which compilers turn into vector instructions.
 */
#define FILL_BITS(n, bits, test) \
	do { \
		uint32		full_ = (n) / 64; \
		uint8		truth_[64]; \
		for (uint32 w_ = 0; w_ < full_; w_++) \
		{ \
			for (uint32 k_ = 0; k_ < 64; k_++) \
			{ \
				uint32		i = w_ * 64 + k_; \
				truth_[k_] = (test); \
			} \
			(bits)[w_] = pack64(truth_); \
		} \
		for (uint32 w_ = full_; w_ < ZS_KERNEL_WORDS; w_++) \
			(bits)[w_] = 0; \
		for (uint32 i = full_ * 64; i < (n); i++) \
			(bits)[full_] |= (uint64) ((test) ? 1 : 0) << (i % 64); \
	} while (0)

#endif							/* KERNEL_INTERNAL_H */
