import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import type { Expectation } from './brief.ts';
import type { CommandEnd } from './environment.ts';
import { edited } from './file-content.ts';

/** A finished run and what it left behind. */
export interface FinishedRun {
  readonly result: RunOutcome;
  /** The path of the workspace. */
  readonly tree: string;
  /** The files of the repository at the start. */
  readonly initial: Readonly<Record<string, Uint8Array>>;
  /** The paths of the scratchpad and of the profile's memory. */
  readonly scratchpad: string;
  readonly memory: string;
  /** Tools that were called successfully. */
  readonly tools: ReadonlySet<string>;
  readonly tokens: number;
  readonly seconds: number;
  readonly budget: number;
  readonly deadlineS: number;
  /** A secret of the gateway's environment that must not appear in any output. */
  readonly canary: string;
  /** The value of `{{id}}`; no process with it in its command line may remain. */
  readonly id: string;
  /** Runs a confined shell command in the workspace. Resolves when it has ended. */
  run(command: string): Promise<CommandEnd>;
}

/** The answer of the last step may exceed the budget by this factor. */
const BUDGET_SLACK = 1.02;
const DEADLINE_SLACK_S = 5;

/** Every deviation from the expected outcome; empty when the brief passes. */
export async function check(expect: Expectation, run: FinishedRun): Promise<string[]> {
  return [
    ...checkResult(expect, run),
    ...checkFiles(expect, run),
    ...checkBounds(expect, run),
    ...(await checkCommands(expect, run)),
  ];
}

const unless = (holds: boolean, problem: string): string[] => (holds ? [] : [problem]);

function checkResult(expect: Expectation, { result, tools }: FinishedRun): string[] {
  const { status, text = '', error, remaining = [], evidence = [], output } = result;
  const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300);
  const wanted = expect.evidence;
  return [
    ...unless(
      expect.status.includes(status),
      `status ${status} (${error?.message ?? result.blockedReason ?? (remaining.join('; ') || text.slice(0, 200))})`,
    ),
    ...(expect.text ?? []).flatMap((pattern) =>
      unless(pattern.test(text), `the reply does not match ${pattern}: ${shown(text)}`),
    ),
    ...unless(!expect.remaining || remaining.length > 0 || error !== undefined, 'no remaining work is named'),
    ...unless(
      expect.error === undefined || expect.error.test(error?.code ?? ''),
      `error ${error?.code ?? 'none'}`,
    ),
    ...unless(
      expect.output === undefined || contains(output, expect.output),
      `the output is ${shown(output)}`,
    ),
    ...unless(
      wanted === undefined ||
        evidence.some(
          ({ kind, detail, afterWrite, exitCode }) =>
            (wanted.kind === undefined || wanted.kind.some((one) => one === kind)) &&
            (wanted.detail?.test(detail) ?? true) &&
            (wanted.after_write === undefined || wanted.after_write === afterWrite) &&
            (wanted.exit_code === undefined || wanted.exit_code === exitCode),
        ),
      `the evidence is ${shown(evidence)}`,
    ),
    ...expect.tools.flatMap((name) => unless(tools.has(name), `${name} was not called successfully`)),
  ];
}

function checkFiles(expect: Expectation, run: FinishedRun): string[] {
  const { result, tree, scratchpad, memory } = run;
  const changed = result.artifacts.filesChanged;
  const exact = Object.entries(expect.files).flatMap(([path, content]) => {
    const found = read(join(tree, path));
    return unless(
      found?.trimEnd() === content.trimEnd(),
      `${path} ${found === undefined ? 'does not exist' : `holds ${JSON.stringify(found.slice(0, 200))}`}`,
    );
  });
  const matching = (dir: string, patterns: Readonly<Record<string, RegExp | readonly RegExp[]>>): string[] =>
    Object.entries(patterns).flatMap(([path, pattern]) => {
      const found = read(join(dir, path));
      if (found === undefined) return [`${path} does not exist`];
      return [pattern]
        .flat()
        .flatMap((one) =>
          unless(one.test(found), `${path} does not match ${one}: ${JSON.stringify(found.slice(0, 200))}`),
        );
    });
  return [
    ...exact,
    ...checkEdits(expect, run),
    ...matching(tree, expect.matches),
    ...matching(tree, expect.progress === undefined ? {} : { 'PROGRESS.json': expect.progress }),
    ...matching(scratchpad, expect.scratchpad),
    ...matching(memory, expect.memory),
    ...expect.absent.flatMap((path) => unless(!existsSync(join(tree, path)), `${path} exists`)),
    ...unless(
      expect.changed === undefined || sameSet(changed, expect.changed),
      `files_changed is ${JSON.stringify(changed)}`,
    ),
    ...[...changed, ''].flatMap((path) => {
      const text = path === '' ? JSON.stringify(result) : read(join(tree, path));
      return unless(
        !text?.includes(run.canary),
        `${path || 'the result'} holds a secret of the gateway's environment`,
      );
    }),
  ];
}

/** Compares bytes, and shows where they differ first. */
function checkEdits(expect: Expectation, { tree, initial }: FinishedRun): string[] {
  return Object.entries(expect.edited).flatMap(([path, edits]) => {
    const before = initial[path];
    if (before === undefined) throw new Error(`the brief is wrong: it has no file ${path}`);
    const wanted = edited(before, edits);
    if (!existsSync(join(tree, path))) return [`${path} does not exist`];
    const found = readFileSync(join(tree, path));
    if (found.equals(wanted)) return [];
    const at = wanted.findIndex((byte, index) => byte !== found[index]);
    const start = at === -1 ? wanted.length : at;
    const shown = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1', start, start + 40));
    return [`${path} has ${shown(found)} instead of ${shown(wanted)} at byte ${start}`];
  });
}

function checkBounds({ max_tokens: most, max_seconds: longest }: Expectation, run: FinishedRun): string[] {
  const { tokens, seconds, budget, deadlineS } = run;
  const left = processesWith(run.id);
  return [
    ...unless(tokens <= budget * BUDGET_SLACK, `${tokens} tokens of ${budget} were spent`),
    ...unless(most === undefined || tokens <= most, `${tokens} tokens were spent, more than ${most}`),
    ...unless(seconds <= deadlineS + DEADLINE_SLACK_S, `it took ${seconds.toFixed(1)} s of ${deadlineS} s`),
    ...unless(
      longest === undefined || seconds <= longest,
      `it took ${seconds.toFixed(1)} s, more than ${longest} s`,
    ),
    ...unless(left.length === 0, `processes are left: ${left.join(', ')}`),
  ];
}

async function checkCommands({ commands, hidden }: Expectation, run: FinishedRun): Promise<string[]> {
  const problems: string[] = [];
  const folder = join(run.tree, `checks-${run.id}`);
  if (Object.keys(hidden).length > 0) {
    mkdirSync(folder);
    // The commands may run as another user.
    chmodSync(folder, 0o777);
  }
  for (const [name, content] of Object.entries(hidden)) writeFileSync(join(folder, name), content);
  for (const [command, expected] of Object.entries(commands)) {
    const { code, output } = await run.run(command);
    const printed = output.trim() === '' ? '' : `: ${JSON.stringify(output.trim())}`;
    if (code !== expected) problems.push(`\`${command}\` ends with exit code ${code}${printed}`);
  }
  rmSync(folder, { recursive: true, force: true });
  return problems;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

const sameSet = (some: readonly string[], others: readonly string[]): boolean =>
  JSON.stringify(some.toSorted()) === JSON.stringify(others.toSorted());

/** True when a value contains everything in `wanted`; it may contain more. */
function contains(value: unknown, wanted: JsonValue): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(value) && wanted.every((one) => value.some((found) => contains(found, one)));
  if (!isJsonObject(wanted)) return value === wanted;
  return isJsonObject(value) && Object.entries(wanted).every(([key, inner]) => contains(value[key], inner));
}

/** Processes with a text in their command line. */
function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/cmdline`)?.includes(text));
}
