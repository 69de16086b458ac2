import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Ended, fleet, keysFolder, type ReceivedRequest, serveAnswers } from './profile-stub.ts';

const texts = z.record(z.string(), z.string());

/** A command that has ended. A text alone is its stdout. */
const ended = z.preprocess(
  (given) => (typeof given === 'string' ? { stdout: given } : given),
  z.strictObject({
    stdin: z.string().optional(),
    env: texts.optional(),
    exit: z.number().default(0),
    stdout: z.string().default(''),
    /** What stdout holds as JSON, instead of the text. */
    json: z.unknown().optional(),
    stderr: z.string().default(''),
    /** All requests of the command; each is compared in the fields that are given. */
    asks: z
      .array(z.partialRecord(z.enum(['of', 'method', 'path', 'token', 'body', 'text']), z.unknown()))
      .optional(),
  }),
);

const answers = z.record(
  z.string(),
  z.strictObject({ status: z.number().optional(), body: z.unknown().optional() }),
);

const transcript = z.strictObject({
  given: z.unknown(),
  tests: z.record(
    z.string(),
    z.strictObject({
      /** The services that the command reaches: what they answer, or that nothing listens. */
      services: z.record(z.string(), answers.or(z.literal('away'))).default({}),
      files: texts.default({}),
      runs: z.record(z.string(), ended).default({}),
      /** Usage errors: they end with 2 and this message, and ask nobody. */
      refuses: texts.default({}),
    }),
  ),
});

type Case = z.infer<typeof transcript>['tests'][string];

/**
 * Registers the tests of a transcript: each runs its command lines against services that answer as it says, and compares
 * the exit code, the whole screen and the requests. `{dir}` stands for the folder of the test, `{operator}` for the token
 * of the operator, and `{name}` for the URL of a service, on the command line as on the screen.
 */
export function testTranscript(path: string): void {
  const { tests } = transcript.parse(parse(readFileSync(path, 'utf8'), { merge: true }));
  for (const [name, each] of Object.entries(tests))
    test(`${basename(path, '.yaml')}: ${name}`, (t) => replay(t, each));
}

async function replay(t: TestContext, { services, files, runs, refuses }: Case): Promise<void> {
  const { dir, token } = keysFolder(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const asked: (ReceivedRequest & { readonly of: string })[] = [];
  const values = new Map([
    ['{dir}', dir],
    ['{operator}', token],
  ]);
  const reach: string[] = [];
  for (const [of, given] of Object.entries(services)) {
    const note = (request: ReceivedRequest) => asked.push({ of, ...request });
    const url = given === 'away' ? 'http://127.0.0.1:1' : await serveAnswers(t, given, note);
    values.set(`{${of}}`, url);
    reach.push('--reach', `${of}=${url}`);
  }
  const at = reach.length === 0 ? [] : ['--dir', dir, ...reach];
  const filled = (text: string) =>
    [...values].reduce((all, [name, value]) => all.replaceAll(name, value), text);
  const shown = (text: string) =>
    [...values].reduce((all, [name, value]) => all.replaceAll(value, name), text);
  const call = async (line: string, stdin?: string, env?: NodeJS.ProcessEnv): Promise<Ended> => {
    asked.length = 0;
    const { code, stdout, stderr } = await fleet([...wordsOf(filled(line)), ...at], stdin, env);
    return { code, stdout: shown(stdout), stderr: shown(stderr) };
  };

  assert.ok(
    Object.keys(runs).length + Object.keys(refuses).length > 0,
    'a test of a transcript runs a command',
  );
  for (const [line, { stdin, env, exit, stdout, json, stderr, asks }] of Object.entries(runs)) {
    const end = await call(line, stdin, env);
    const screen = json === undefined ? end.stdout : JSON.parse(end.stdout);
    assert.deepEqual(
      { exit: end.code, stdout: screen, stderr: end.stderr },
      { exit, stdout: json ?? stdout, stderr },
      line,
    );
    if (asks === undefined) continue;
    const requests = asked.map((each) => ({ ...each, token: shown(each.token), text: shown(each.text) }));
    assert.equal(requests.length, asks.length, line);
    for (const [place, expected] of asks.entries())
      assert.deepEqual({ ...requests[place], ...expected }, requests[place], line);
  }
  for (const [line, message] of Object.entries(refuses)) {
    const { code, stdout, stderr } = await call(line);
    const told = stderr.replace(/\nhint: fleet [a-z -]+\n$/, '');
    assert.deepEqual([code, stdout, told, asked], [2, '', `fleet: ${message}`, []], line);
  }
}

/** The words of a command line after `fleet`; quotes keep spaces. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
  assert.equal(words.shift(), 'fleet', line);
  return words;
}
