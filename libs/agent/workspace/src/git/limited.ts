import type { GitPlace } from './git.ts';

/** Bounds the memory and the CPU time of git: a hostile pack may need more of them than its size shows. */
export const limited =
  ({ dataKib, cpuS }: { readonly dataKib: number; readonly cpuS: number }): GitPlace['wrap'] =>
  (command, args) => ({
    command: '/bin/sh',
    args: ['-c', `ulimit -d ${dataKib}; ulimit -t ${cpuS}; exec "$@"`, 'sh', command, ...args],
  });
