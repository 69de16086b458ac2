import type { JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt } from '../client/fields.ts';
import { command } from '../command-line/command.ts';
import { noArguments, UsageError } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { findEntryPoint } from '../command-line/running-fleet.ts';
import { CONSOLE, ORCHESTRATOR, TRADER } from '../keys/layout.ts';
import { examine } from '../local/doctor-report.ts';
import { doctorUsage } from '../usage/fleet.ts';

/**
 * `fleet doctor`: checks the configuration of a profile, the trader or the console as its start does, and everything that the
 * service connects to. `--call` also calls each model of a profile once, which costs tokens. `--as-is` uses this process's
 * environment, as inside a container. Exit code 1 when a check fails.
 */
export const doctorCommand = command(doctorUsage, async ({ values, positionals, env, stdout, print }) => {
  noArguments('doctor', positionals);
  const name = values.profile ?? ORCHESTRATOR;
  if (values.call && (name === TRADER || name === CONSOLE))
    throw new UsageError(`--call calls a model, and the ${name} has none`);
  const report = await examine(name, findEntryPoint(values, name, env), values.call ? ['--call'] : []);
  if (print) print(report);
  else printLines(stdout, renderReport(report));
  return report.ok === true ? 0 : 1;
});

/** One line per check, then what to do about the findings that have a fix. */
export function renderReport(report: JsonObject): string[] {
  const findings = objectsAt(report, 'findings');
  const table = columns(
    ['about', 'check', 'state', 'found'],
    findings.map((each) => [
      textAt(each, 'subject'),
      textAt(each, 'check'),
      each.state === 'failed' ? 'FAILED' : textAt(each, 'state'),
      textAt(each, 'detail'),
    ]),
  );
  const failed = findings.filter(({ state }) => state === 'failed');
  const advice = findings
    .filter(({ fix }) => typeof fix === 'string')
    .map((each) => `  ${textAt(each, 'subject')}, ${textAt(each, 'check')}: ${textAt(each, 'fix')}`);
  return [
    ...table,
    '',
    ...(advice.length > 0 ? ['What to do:', ...advice, ''] : []),
    failed.length === 0 ? 'nothing failed' : `${failed.length} of ${findings.length} checks failed`,
  ];
}
