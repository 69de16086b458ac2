import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt } from '../client/fields.ts';
import { readOptions, UsageError } from '../command-line/options.ts';
import { columns, printJson, printLines } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { askEntryPoint, GIVE_UP_MS, type Question } from '../local/entry-point.ts';
import { commandOf, memberEnv } from '../local/plan.ts';
import { inherited } from '../local/up.ts';

/**
 * `fleet doctor`: what a start of the profile, or of the trader, would say of its configuration, and whether everything that it talks to
 * can be reached and is what it should be. `--as-is` takes the environment of this process, as inside a container;
 * else it is the fleet of plain processes in `--dir`. Exit code 1 when a check failed.
 */
export async function doctorCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    profile: { type: 'string' },
    'as-is': { type: 'boolean' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
    json: { type: 'boolean' },
  });
  if (positionals.length > 0) throw new UsageError(`doctor takes no "${positionals.join(' ')}"`);
  const plan = plannedFleet(values);
  const name = values.profile ?? 'switch';
  const planned = plan.members.find((each) => each.name === name);
  if (!planned && !values['as-is'])
    throw new UsageError(
      `there is no profile ${name}, only ${plan.members.map((each) => each.name).join(', ')}`,
    );
  const report = await examine(name, {
    command: commandOf(plan.root, name),
    env: planned && !values['as-is'] ? { ...inherited(env), ...memberEnv(plan, planned) } : env,
    cwd: plan.root,
  });
  if (values.json) printJson(report);
  else printLines(renderReport(report));
  return report.ok === true ? 0 : 1;
}

/** A report of checks for people: a line for each, and below those that failed what to do. */
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

/**
 * Runs the checks of a member in a process of its own (its entry point with `--doctor`) and reads their report.
 * Throws CONFIG_INVALID, with what the process said, when it ends without one.
 */
export async function examine(
  name: string,
  o: Pick<Question, 'command' | 'env' | 'cwd'>,
): Promise<JsonObject> {
  const { stdout, stderr } = await askEntryPoint({ ...o, question: ['--doctor'] });
  const report = parse(stdout);
  if (report) return report;
  const said = stderr.trim() || `no report within ${GIVE_UP_MS / 1000} s`;
  throw new FleetError('CONFIG_INVALID', `the checks of ${name} ended without a report: ${said}`);
}

function parse(text: string): JsonObject | undefined {
  try {
    const report: unknown = JSON.parse(text);
    return isJsonObject(report) && Array.isArray(report.findings) ? report : undefined;
  } catch {
    // Not a report: the caller says what the process said instead.
    return undefined;
  }
}
