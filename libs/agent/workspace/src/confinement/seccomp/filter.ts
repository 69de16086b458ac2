import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asset } from '@hermes-fleet/installation';

/** The file with the filter for an architecture; `generate.ts` writes it. */
export const filterFile = (arch: string): string => join(asset('seccomp'), `filter-${arch}.bpf`);

/** The system-call filter of confined commands on this machine, or why there is none. */
export type SystemCallFilter = { readonly file: string } | { readonly missing: string };

/** Finds the filter for this machine: its architecture needs one, and its kernel must take it. */
export function findFilter(
  arch: string = process.arch,
  actions = '/proc/sys/kernel/seccomp/actions_avail',
): SystemCallFilter {
  const file = filterFile(arch);
  if (!existsSync(file)) return { missing: `there is no filter for ${arch}` };
  const available = existsSync(actions) ? readFileSync(actions, 'utf8').split(/\s+/) : [];
  if (!available.includes('errno')) return { missing: 'this kernel has no seccomp filters' };
  return { file };
}
