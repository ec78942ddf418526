/*-------------------------------------------------------------------------
 *
 * zs_compression.h
 *	  Names of the general compression methods; shared by table options and
 *	  codec.  On disk: never renumber.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compression.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPRESSION_H
#define ZS_COMPRESSION_H

typedef enum ZsCompression
{
	ZS_COMPRESSION_NONE = 0,
	ZS_COMPRESSION_LZ4,
	ZS_COMPRESSION_ZSTD,
} ZsCompression;

#endif							/* ZS_COMPRESSION_H */
