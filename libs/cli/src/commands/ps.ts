import { command } from '../command-line/command.ts';
import { columns } from '../command-line/output.ts';
import { psUsage } from '../command-specs/processes.ts';
import { containerStatus } from '../containers/status.ts';
import { fleetInContainers, plannedFleet } from '../running/running-fleet.ts';
import { supervisedStatus } from '../supervise/status.ts';

const COLUMNS = ['name', 'state', 'pid', 'url', 'detail', 'log_file'];

/** `fleet ps`: lists the processes or the containers of the fleet, by the same fields. */
const psCommand = command(psUsage, async ({ values, env, show }) => {
  const containers = await fleetInContainers(values, env);
  const found = containers
    ? await containerStatus(containers, env)
    : await supervisedStatus(plannedFleet(values));
  const rows = found.map(({ name, state, pid = null, url, detail = null, logFile }) => ({
    name,
    state,
    pid,
    url: url || null,
    detail,
    log_file: logFile || null,
  }));
  show(rows, () =>
    columns(
      COLUMNS,
      rows.map((row) => Object.values(row)),
    ),
  );
});

export const commands = [psCommand];
