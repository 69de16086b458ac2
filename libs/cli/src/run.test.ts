import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { fleet, keysFolder, profileStub } from '../testing/profile-stub.ts';
import { DISPATCH_OPTIONS, OPTION_OF_FIELD } from './command-line/shared-options.ts';
import { GROUPS, loadCommand, USAGES } from './commands.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

test('--version prints the version, and --help every command with its summary', async () => {
  assert.deepEqual(await fleet(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
  const help = await fleet(['--help']);
  assert.equal(help.code, 0);
  for (const name of new Set(USAGES.map((each) => each.name.split(' ')[0])))
    assert.match(help.stdout, new RegExp(`^ {2}${name} `, 'm'));
  assert.match(help.stdout, /Exit codes: 0 done/);
  assert.equal((await fleet([])).stdout, help.stdout);
});

test('docs/cli.md names every command that prints text only', () => {
  const doc = readFileSync(resolve(import.meta.dirname, '../../../docs/cli.md'), 'utf8');
  const [, list = ''] =
    /((?:`[a-z -]+`,\s)+`[a-z -]+` and) `logs` without a task print text only/.exec(doc) ?? [];
  const named = [...list.matchAll(/`([a-z -]+)`/g)].map(([, name]) => name);
  const textOnly = USAGES.filter((each) => each.textOnly).map(({ name }) => name);
  assert.deepEqual(named, textOnly.toSorted());
});

test('the package has the command fleet', () => {
  const bin = resolve(import.meta.dirname, '../../../node_modules/.bin/fleet');
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const { error, stdout, stderr } = spawnSync(bin, ['--version'], { encoding: 'utf8', env });
  assert.ifError(error);
  assert.deepEqual([stdout, stderr], [`${version}\n`, '']);
});

/** The modules that the command loads for this command line, as URLs. */
function loadedBy(...args: readonly string[]): string {
  const list =
    'data:text/javascript,import{registerHooks}from"node:module";registerHooks({load:(url,c,next)=>{console.error(url);return next(url,c)}})';
  const main = resolve(import.meta.dirname, 'main.ts');
  const { status, stderr } = spawnSync(process.execPath, ['--import', list, main, ...args], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /\/cli\/src\/run\.ts\n/);
  return stderr;
}

const LARGE =
  /node_modules\/(?:nats|fastify|pino|prom-client|zod|yaml|@a2a-js)\/|\/libs\/(?!cli\/|core\/installation\/|core\/service\/src\/descriptors\/)/;

test('help loads no command, nothing of other packages but descriptors and the installation, and no large library', () => {
  for (const args of [['--help'], ['help', 'send'], ['trader', '--help'], ['up', '--help']]) {
    const loaded = loadedBy(...args);
    assert.doesNotMatch(loaded, /\/cli\/src\/commands\//, args.join(' '));
    assert.doesNotMatch(loaded, LARGE, args.join(' '));
  }
});

test('a command loads its own module, and no server, no bus and no YAML', (t) => {
  const { dir } = keysFolder(t);
  const loaded = loadedBy('token', '--dir', join(dir, 'keys'), '--json');
  const commands = [...loaded.matchAll(/\/cli\/src\/commands\/(.+)\n/g)].map(([, file]) => file);
  assert.deepEqual(commands, ['token.ts']);
  assert.doesNotMatch(loaded, /node_modules\/(?:nats|fastify|pino|prom-client|yaml)\//);
});

test('each usage is one of a command, and each option of a dispatch sets a field', async () => {
  for (const file of readdirSync(resolve(import.meta.dirname, 'command-specs'))) {
    const exported: Record<string, unknown> = await import(`./command-specs/${file}`);
    for (const [name, each] of Object.entries(exported))
      if (name.endsWith('Usage'))
        assert.ok(
          USAGES.some((usage) => usage === each),
          name,
        );
  }
  const set = new Set<string>(Object.values(OPTION_OF_FIELD));
  assert.deepEqual(
    Object.keys(DISPATCH_OPTIONS).filter((option) => !set.has(option)),
    [],
  );
});

test('each command has an implementation', async () => {
  for (const { name } of USAGES) assert.equal((await loadCommand(name)).name, name);
});

test('the help of a command has its options and its examples; that of a group has its commands', async () => {
  const route = await fleet(['route', '--help']);
  assert.equal(route.code, 0);
  assert.match(route.stdout, /^Usage: fleet route \[options\]\n/);
  assert.match(route.stdout, /--tier-min <tier> +the lowest model tier/);
  assert.match(route.stdout, /-o, --output <format>/);
  assert.match(route.stdout, /Examples:\n {2}fleet route --explain/);
  assert.deepEqual(await fleet(['help', 'route']), route);
  assert.deepEqual(await fleet(['help']), await fleet(['--help']));
  const none = await fleet(['--']);
  assert.deepEqual([none.code, none.stderr.slice(0, 35)], [2, 'fleet: fleet needs a command: init,']);
  const group = await fleet(['trader', 'audit', '--help']);
  assert.deepEqual(await fleet(['help', 'trader', 'audit']), group);
  assert.match(group.stdout, /^ {2}verify .*\n(?: {4}.*\n)* {2}show /m);
});

test('every command has a summary and an example, and every group a description', () => {
  for (const { name, summary, examples, options } of USAGES) {
    assert.ok(summary !== '' && examples.length > 0, name);
    assert.ok(
      examples.every((line) => line === name || line.startsWith(`${name} `)),
      name,
    );
    assert.ok(
      Object.values(options).every(({ help }) => help !== ''),
      name,
    );
    const words = name.split(' ').slice(0, -1);
    for (const at of words.keys()) assert.ok(GROUPS[words.slice(0, at + 1).join(' ')], name);
  }
});

test('with JSON or YAML, an error is the only document on stdout', async (t) => {
  const usage = await fleet(['peers', '--nope', '-o', 'json']);
  assert.deepEqual([usage.code, usage.stderr], [2, '']);
  assert.deepEqual(JSON.parse(usage.stdout), {
    error: { code: 'USAGE', message: "unknown option '--nope'", hint: 'fleet peers --help', fields: [] },
  });
  const fields = [{ path: 'brief', reason: 'missing' }];
  const body = { error: { code: 'INVALID_PARAMS', message: 'not valid', fields } };
  const stub = await profileStub(t, { '/fleet/peers': { status: 400, body } });
  const args = ['peers', '--dir', stub.dir, '--reach', `switch=${stub.url}`];
  const refused = await fleet([...args, '--output=yaml']);
  assert.deepEqual([refused.code, refused.stderr], [1, '']);
  const message = 'switch answered HTTP 400: not valid';
  assert.deepEqual(parse(refused.stdout), { error: { code: 'PEER_REFUSED', message, hint: null, fields } });
  assert.equal((await fleet(args)).stderr, `fleet: ${message}\n  brief: missing\n`);
});

test('-o yaml prints an answer as YAML, and text from a peer cannot control the terminal in an error', async (t) => {
  const answer = { profile: 'switch', peers: [] };
  const error = { error: { message: 'a\u001b[2Jb\nc' } };
  const stub = await profileStub(t, {
    '/fleet/peers': { body: answer },
    '/fleet/route': { status: 200, body: error },
  });
  const reach = ['--dir', stub.dir, '--reach', `switch=${stub.url}`];
  assert.deepEqual(parse((await fleet(['peers', ...reach, '-o', 'yaml'])).stdout), answer);
  const refused = await profileStub(t, { '/fleet/peers': { status: 418, body: error } });
  const { stderr } = await fleet(['peers', '--dir', refused.dir, '--reach', `switch=${refused.url}`]);
  assert.equal(stderr, 'fleet: switch answered HTTP 418: a\ufffd[2Jb\ufffdc\n');
});

test('text from a peer cannot control the terminal in JSON and YAML, which hold it unchanged', async (t) => {
  const hostile = 'a\u001b[2J\u009b31m\u007f\u202eb\u2028\nc';
  const answer = { profile: 'switch', peers: [], [hostile]: [hostile, '\u2066', `plain ${hostile}`] };
  const stub = await profileStub(t, { '/fleet/peers': { body: answer } });
  const args = ['peers', '--dir', stub.dir, '--reach', `switch=${stub.url}`, '-o'];
  const readers: readonly [string, (text: string) => unknown][] = [
    ['json', JSON.parse],
    ['yaml', (text) => parse(text)],
  ];
  for (const [format, read] of readers) {
    const { code, stdout } = await fleet([...args, format]);
    assert.equal(code, 0);
    assert.doesNotMatch(
      stdout.replaceAll('\n', ''),
      /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u,
      format,
    );
    assert.deepEqual(read(stdout), answer);
  }
});

test('progress that nobody reads any more does not end a command', () => {
  const main = resolve(import.meta.dirname, 'main.ts');
  const closed = '{ sleep 1; exec "$0" "$1" nothing; } 2> >(true)';
  const { status } = spawnSync('bash', ['-c', closed, process.execPath, main], { timeout: 60_000 });
  assert.equal(status, 2);
});

test('a reader that closes the pipe ends the command without a word', () => {
  const main = resolve(import.meta.dirname, 'main.ts');
  const { status, stderr } = spawnSync(
    'bash',
    ['-c', '"$0" "$1" --help | true; exit $PIPESTATUS', process.execPath, main],
    {
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  assert.deepEqual([status, stderr], [0, '']);
});
