import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program } from '@hermes-fleet/installation';
import { type Fleet, until } from './fleet.ts';

/** The name under which profiles have the server. */
export const NOTES = 'notes';

/** The memory server, unless the file that the first argument names is there. In one line: files of tests are hidden. */
const SERVER = [
  "import { existsSync } from 'node:fs'",
  'const [, broken, server] = process.argv',
  'if (existsSync(broken)) process.exit(1)',
  'await import(server)',
].join('; ');

/** A config.yaml with one more MCP server, which the test can break. */
export function withNotes(shipped: string): string {
  const workspace = '$' + '{HERMES_WORKSPACE_DIR:-.}';
  const notes = {
    command: 'node',
    args: ['--input-type=module', '--eval', SERVER, `${workspace}/mcp/broken`, program('mcp-memory')],
    env: { MEMORY_FILE_PATH: `${workspace}/mcp/notes.jsonl` },
    scope: 'profile',
  };
  return `${shipped.trimEnd()}\n    ${NOTES}: ${JSON.stringify(notes)}\n`;
}

/** The server of one profile: it can die so that its restarts fail, and be repaired. */
export function notesOf(fleet: Fleet, profile: string) {
  const planned = fleet.plan.profiles.find(({ name }) => name === profile);
  if (!planned) throw new Error(`no profile ${profile}`);
  const broken = join(planned.workspaceDir, 'mcp/broken');
  return {
    /** Kills it, and has every restart fail. */
    break(): void {
      writeFileSync(broken, '');
      for (const pid of processesOf(broken)) killProcess(pid);
    },
    repair: () => rmSync(broken, { force: true }),
    /** Resolves when the profile has measured that the server is up, or not. */
    measured: (up: boolean) =>
      until(
        async () =>
          new RegExp(`^fleet_mcp_server_up\\{server="${NOTES}"\\} ${up ? 1 : 0}$`, 'm').test(
            await fleet.metrics(profile),
          ),
        `${profile} to find ${NOTES} ${up ? 'up' : 'down'}`,
      ),
  };
}

/** The processes that were started with this argument, a path inside the test's own fleet. */
function processesOf(argument: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => commandOf(pid).includes(argument));
}

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
