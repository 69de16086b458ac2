import type { Answer, DoctorReport } from '@hermes-fleet/protocol/api';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { columns } from '../command-line/output.ts';
import { doctorUsage } from '../command-specs/fleet.ts';
import { runInside, wordsOf } from '../containers/inside.ts';
import { CONSOLE, ORCHESTRATOR, TRADER } from '../keys/layout.ts';
import { examine } from '../local/entry-point.ts';
import { findEntryPoint, fleetInContainers } from '../running/running-fleet.ts';

/**
 * `fleet doctor`: checks the configuration of a profile, the trader or the console as its start does, and everything that the
 * service connects to. `--call` also calls each model of a profile once, which costs tokens. A fleet in containers
 * is checked in the container of the service; `--as-is` uses this process's environment, as there. Exit code 1 when a check fails.
 */
const doctorCommand = command(doctorUsage, async ({ values, env, show }) => {
  const name = values.profile ?? ORCHESTRATOR;
  if (values.call && (name === TRADER || name === CONSOLE))
    throw new UsageError(`--call calls a model, and the ${name} has none`);
  const containers = await fleetInContainers(values, env);
  if (containers) return await runInside(containers, env, name, ['doctor', '--as-is', ...wordsOf(values)]);
  const report = await examine(name, findEntryPoint(values, name, env), values.call ? ['--call'] : []);
  show(report, renderReport);
  return report.ok ? 0 : 1;
});

export const commands = [doctorCommand];

/** One line per check, then what to do about the findings that have a fix. */
export function renderReport({ findings }: Pick<Answer<typeof DoctorReport>, 'findings'>): string[] {
  const table = columns(
    ['about', 'check', 'state', 'found'],
    findings.map(({ subject, check, state, detail }) => [
      ...[subject, check, state === 'failed' ? 'FAILED' : state, detail],
    ]),
  );
  const failed = findings.filter(({ state }) => state === 'failed');
  const advice = findings.flatMap(({ subject, check, fix }) =>
    fix === undefined ? [] : [`  ${subject}, ${check}: ${fix}`],
  );
  return [
    ...table,
    '',
    ...(advice.length > 0 ? ['What to do:', ...advice, ''] : []),
    failed.length === 0 ? 'nothing failed' : `${failed.length} of ${findings.length} checks failed`,
  ];
}
