import { existsSync } from 'node:fs';
import { FleetError } from '@hermes-fleet/protocol';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { printLines, safeJson, sanitize } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { logsUsage } from '../command-specs/fleet.ts';
import { keptLines, type LogLines, linesOfFiles } from '../logs/log-lines.ts';
import { describeLine, linesOfTask } from '../logs/task-logs.ts';
import { runScript } from './checkout.ts';

/**
 * `fleet logs <task>`: prints what all services logged about a task, in the order of time (docs/cli.md#logs). Without a task,
 * it is `./fleet logs`. Throws TASK_NOT_FOUND where no line names the
 * task, and NOT_FOUND where there are no logs.
 */
const logsCommand = command(
  logsUsage,
  async ({ values, positionals, output, stdin, stdout, stderr, print }) => {
    const [id, ...more] = positionals;
    if (id === undefined && Object.keys(values).length === 0) return runScript('logs', []);
    if (id === undefined || id === '' || more.length > 0)
      throw new UsageError('logs takes the id or the task_id of one task; without one, it takes no options');
    const source = values.stdin
      ? await keptLines(stdin())
      : filesOf(plannedFleet(values).members.map(({ logFile }) => logFile));
    const { lines, leftOut } = await linesOfTask(source, id);
    if (lines.length === 0)
      throw new FleetError(
        'TASK_NOT_FOUND',
        `no log line names the task "${sanitize(id)}": its lines are rotated away, or LOG_LEVEL leaves them out`,
      );
    if (leftOut > 0) printLines(stderr, [`note: ${leftOut} more lines of the task are left out`]);
    if (output === 'json') for (const { text } of lines) stdout.write(`${safeJson(text)}\n`);
    else if (print) for (const { record } of lines) print(record);
    else printLines(stdout, lines.map(describeLine));
    return 0;
  },
);

export const commands = [logsCommand];

/** Each file after the older one that a start made of it. */
function filesOf(logFiles: readonly string[]): LogLines {
  const files = logFiles.flatMap((file) => [`${file}.1`, file]).filter((file) => existsSync(file));
  if (files.length === 0)
    throw new FleetError('NOT_FOUND', 'there are no logs yet: make up starts the fleet');
  return linesOfFiles(files);
}
