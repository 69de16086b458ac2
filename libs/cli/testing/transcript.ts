import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { GROUPS, USAGES } from '../src/commands.ts';
import { fleet, keysFolder, type ReceivedRequest, serveAnswers } from './profile-stub.ts';

/** `rpc` and `params` are the method and the parameters of a JSON-RPC call, `text` is the body as it was sent. */
const requestField = z.enum(['of', 'method', 'path', 'token', 'body', 'text', 'rpc', 'params']);

const texts = z.record(z.string(), z.string());

/** A command that has ended. A text alone is its stdout. */
const ended = z.preprocess(
  (given) => (typeof given === 'string' ? { stdout: given } : given),
  z.strictObject({
    stdin: z.string().optional(),
    exit: z.number().default(0),
    stdout: z.string().default(''),
    /** What stdout holds as JSON, instead of the text. */
    json: z.unknown().optional(),
    stderr: z.string().default(''),
    /** All requests of the command; each is compared in the fields that are given. */
    asks: z.array(z.partialRecord(requestField, z.unknown())).optional(),
  }),
);

const answers = z.record(
  z.string(),
  z.strictObject({ status: z.number().optional(), headers: texts.optional(), body: z.unknown().optional() }),
);

const transcript = z.strictObject({
  /** Values that the tests name by anchors. */
  given: z.unknown().optional(),
  tests: z.record(
    z.string(),
    z.strictObject({
      /** The services that the command reaches: what they answer, or that nothing listens. */
      services: z.record(z.string(), answers.or(z.literal('away'))).default({}),
      files: texts.default({}),
      env: texts.default({}),
      runs: z.record(z.string(), ended).default({}),
      /** Errors: they end with 1 and this message, with a hint if there is one. */
      fails: texts.default({}),
      /** Usage errors: they end with 2, this message and the command whose help to read, and ask nobody. */
      refuses: texts.default({}),
    }),
  ),
});

type Case = z.infer<typeof transcript>['tests'][string];

/**
 * Registers the tests of a transcript: each runs its command lines against services that answer as it says, and compares
 * the exit code, the whole screen and the requests. `{dir}` stands for the folder of the test, `{operator}` for the token
 * of the operator, and `{name}` for the URL of a service, on the command line as on the screen; `{uuid}` and `{now}` stand
 * for an id and a time that the command makes. A command line without `--reach` gets `--dir` and `--reach` for all services.
 */
export function testTranscript(path: string): void {
  const { tests } = transcript.parse(parse(readFileSync(path, 'utf8'), { merge: true }));
  for (const [name, each] of Object.entries(tests))
    test(`${basename(path, '.yaml')}: ${name}`, (t) => replay(t, each));
}

async function replay(t: TestContext, { services, files, env, runs, fails, refuses }: Case): Promise<void> {
  const { dir, token } = keysFolder(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const asked: (ReceivedRequest & { readonly of: string })[] = [];
  const values: [name: string, value: string][] = [
    ['{dir}', dir],
    ['{operator}', token],
  ];
  const at = Object.keys(services).length === 0 ? [] : ['--dir', dir];
  for (const [of, given] of Object.entries(services)) {
    const note = (request: ReceivedRequest) => asked.push({ of, ...request });
    // Nothing listens at port 2.
    const url = given === 'away' ? 'http://127.0.0.1:2' : await serveAnswers(t, given, note);
    values.push([`{${of}}`, url]);
    at.push('--reach', `${of}=${url}`);
  }
  const began = Date.now();
  const isNow = (time: number) => began <= time && time <= Date.now();
  const shown = (text: string) =>
    values
      .reduce((all, [name, value]) => all.replaceAll(value, name), text)
      .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, '{uuid}')
      .replaceAll(/[\d-]+T[\d:.]+Z/g, (time) => (isNow(Date.parse(time)) ? '{now}' : time));
  const call = async (line: string, stdin?: string) => {
    asked.length = 0;
    const given = wordsOf(values.reduce((all, [name, value]) => all.replaceAll(name, value), line));
    const words = given.includes('--reach') ? given : [...given, ...at];
    const { code, stdout, stderr } = await fleet(words, stdin, env);
    return { exit: code, stdout: shown(stdout), stderr: shown(stderr), asks: asked.map(requestOf) };
  };
  const requestOf = ({ of, method, path, token, text: sent }: (typeof asked)[number]) => {
    const text = shown(sent);
    const body = text === '' ? undefined : JSON.parse(text);
    return { of, method, path, token: shown(token), text, body, rpc: body?.method, params: body?.params };
  };

  assert.notDeepEqual([runs, fails, refuses], [{}, {}, {}], 'a test of a transcript runs a command');
  for (const [line, { stdin, exit, stdout, json, stderr, asks }] of Object.entries(runs)) {
    const end = await call(line, stdin);
    const screen = json === undefined ? end.stdout : JSON.parse(end.stdout);
    assert.deepEqual([end.exit, screen, end.stderr], [exit, json ?? stdout, stderr], line);
    if (asks === undefined) continue;
    assert.equal(end.asks.length, asks.length, line);
    for (const [place, request] of end.asks.entries())
      assert.deepEqual(request, { ...request, ...asks[place] }, line);
  }
  for (const [line, message] of Object.entries(fails)) {
    const { exit, stdout, stderr } = await call(line);
    assert.deepEqual([exit, stdout, stderr], [1, '', `fleet: ${message}\n`], line);
  }
  for (const [line, message] of Object.entries(refuses)) {
    const { exit, stdout, stderr, asks } = await call(line);
    const told = `fleet: ${message}\nhint: ${calledBy(line)} --help\n`;
    assert.deepEqual([exit, stdout, stderr, asks], [2, '', told, []], line);
  }
}

/** The command or the group of commands that a command line begins with. */
function calledBy(line: string): string {
  const names = [...Object.keys(GROUPS), ...USAGES.map(({ name }) => name)].map((name) => `fleet ${name}`);
  const found = names.filter((name) => `${line} `.startsWith(`${name} `));
  return found.toSorted((a, b) => b.length - a.length)[0] ?? 'fleet';
}

/** The words of a command line after `fleet`; quotes keep spaces. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
  assert.equal(words.shift(), 'fleet', line);
  return words;
}
