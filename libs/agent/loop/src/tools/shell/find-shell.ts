import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { COMMAND_ENV, type Confinement, runCommand } from '@hermes-fleet/workspace';

const SH = '/bin/sh';
/** Models write for bash. */
const BASH = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
const PROBE_MS = 10_000;
/** Prints the first shell that runs. */
const PROBE = 'for s; do [ "$("$s" -c "echo ok" 2>/dev/null)" = ok ] && echo "$s" && exit 0; done; exit 1';

/**
 * The shell of the agent's commands: the configured one, else bash where commands can run it, else sh. Tries it confined,
 * as commands are. Throws CONFIG_INVALID when commands cannot run the configured one.
 */
export async function findShell(options: {
  /** `tools.shell.path`. */
  readonly path: string | undefined;
  /** True where the default is sh: a runbook's blocks are titled so. */
  readonly isPlain: boolean;
  readonly confinement: Pick<Confinement, 'method' | 'wrap'>;
  readonly clock: Clock;
}): Promise<string> {
  const { path, isPlain, confinement, clock } = options;
  if (confinement.method === 'none' || (isPlain && path === undefined)) return SH;
  const candidates = path === undefined ? BASH : [path];
  const line = confinement.wrap(SH, ['-c', PROBE, 'sh', ...candidates], { writable: [], readOnly: [] });
  const limits = { timeoutMs: PROBE_MS, keepBytes: 4096, maxBytes: 65_536, clock };
  const { exitCode, stdout } = await runCommand(line, { cwd: '/', env: COMMAND_ENV, ...limits });
  const found = exitCode === 0 ? stdout.trim() : undefined;
  if (found !== undefined || path === undefined) return found ?? SH;
  const reason = `commands cannot run ${path} as a shell; name an installed one, with its folder in tools.shell.readable unless it is a system folder`;
  throw FleetError.ofKey('config.yaml tools.shell.path', reason);
}
