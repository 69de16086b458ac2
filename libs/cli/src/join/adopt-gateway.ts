import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordProcess, runningProcess } from '../local/pid-file.ts';
import type { WorkerHome } from './worker-home.ts';

/**
 * Records the gateway of this worker that an earlier call started without recording it, because it was killed in between.
 * Such a process is found, on Linux, by its arguments and by the state directory in its environment.
 */
export function adoptGateway({ runDir, stateDir, gateway: { name } }: WorkerHome): void {
  if (runningProcess(runDir, name)) return;
  const pid = processes().find(
    (each) =>
      wordsOf(each, 'environ').includes(`HERMES_STATE_DIR=${stateDir}`) &&
      isGateway(wordsOf(each, 'cmdline'), name),
  );
  if (pid !== undefined) recordProcess(runDir, name, Number(pid));
}

/** `node … services/profile/src/main.ts --profile <name>`, and not with `--doctor`. */
function isGateway(words: readonly string[], name: string): boolean {
  const at = words.findIndex((word) => word.endsWith('services/profile/src/main.ts'));
  return at > 0 && words[at + 1] === '--profile' && words[at + 2] === name && words.length === at + 3;
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  } catch {
    return [];
  }
}

/** The command line of a process; empty for one that has ended, or is another user's. */
function wordsOf(pid: string, file: 'cmdline' | 'environ'): string[] {
  try {
    return readFileSync(join('/proc', pid, file), 'utf8')
      .split('\0')
      .slice(0, -1);
  } catch {
    return [];
  }
}
