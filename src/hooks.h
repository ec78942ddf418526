/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  What we do in core's hooks; private to the start of the module.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/hooks.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef HOOKS_H
#define HOOKS_H

extern void zshooks_install(void);

#endif							/* HOOKS_H */
