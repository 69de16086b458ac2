import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { busPermissions, inboxPrefix, setUpStreams, startHeadPublisher } from '@hermes-fleet/events';
import { startNatsServer } from '@hermes-fleet/events/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { CONCERN, controlFile, refuseSome } from '../testing/control-file.ts';

const NOBODY = 65_534;
/** Takes from root what lets it into the folders of other users. Its own stay open, the repository's among them. */
const LIKE_OTHERS = ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all'];
const MAIN = join(import.meta.dirname, 'main.ts');

/** Runs the trader's entry point on a test's file, with a broker at `nats`. */
function ask(file: string, home: string, ...args: string[]) {
  return askBy([], file, home, ...args);
}

/** The same, started by another program. */
async function askBy(starter: readonly string[], file: string, home: string, ...args: string[]) {
  const [program = '', ...line] = [...starter, process.execPath, MAIN, ...args];
  const child = spawn(program, line, {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      HERMES_HOME: home,
      HERMES_STATE_DIR: dirname(file),
      TEST_NATS_USER: 'trader',
      TEST_NATS_PASSWORD: 'trader-pw',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  const lines = stdout.split('\n').filter(Boolean);
  return { code, stderr, lines: lines.map((line) => JSON.parse(line)) };
}

function homeAt(t: { after(fn: () => void): void }, nats: string): string {
  const home = tempDir(t);
  mkdirSync(join(home, 'trader'));
  const bus = `{ servers: ["${nats}"], user_env: TEST_NATS_USER, password_env: TEST_NATS_PASSWORD, inbox_prefix: _INBOX_trader }`;
  writeFileSync(
    join(home, 'trader/fleet.yaml'),
    `fleet:\n  server: { bind_port: 1, auth_required: false }\n  nats: ${bus}\n`,
  );
  return home;
}

test('the audit is verified and shown from its file, with or without a running trader, and damage is reported', async (t) => {
  const { file, open, tamper } = controlFile(t, log);
  const home = homeAt(t, 'nats://127.0.0.1:1');
  const nothing = await ask(file, home, '--verify-audit');
  assert.equal(nothing.code, 1);
  assert.match(nothing.stderr, /control\.db does not exist/);

  const store = open();
  await refuseSome(store, 5);
  const beside = await ask(file, home, '--verify-audit');
  assert.equal(beside.code, 0, beside.stderr);
  const [report] = beside.lines;
  assert.deepEqual([report.ok, report.records, report.head], [true, 5, store.head()]);
  assert.equal(report.published.state, 'not asked');
  assert.match(report.published.reason, /no NATS server/);
  const shown = await ask(file, home, '--show-audit', '--after', '1', '--limit', '2');
  assert.deepEqual(
    shown.lines.map(({ seq, record }) => [seq, record.text]),
    [
      [2, 'refused 1'],
      [3, 'refused 2'],
    ],
  );
  const wrong = await ask(file, home, '--show-audit', '--after', 'x');
  assert.deepEqual([wrong.code, /--after must be a whole number/.test(wrong.stderr)], [1, true]);

  await store.close();
  tamper("UPDATE audit SET record = replace(record, 'refused 2', 'refused X') WHERE seq = 3");
  const changed = await ask(file, home, '--verify-audit');
  assert.equal(changed.code, 1);
  assert.deepEqual([changed.lines[0].ok, changed.lines[0].broken.seq], [false, 3]);
});

test('a row that differs from the audit is reported', async (t) => {
  const { file, open, tamper } = controlFile(t, log);
  const store = open();
  await store.seed([], [CONCERN]);
  await store.close();
  tamper("UPDATE concerns SET risk_mode = 'cautious'");
  const { code, lines } = await ask(file, homeAt(t, 'nats://127.0.0.1:1'), '--verify-audit');
  assert.deepEqual(
    [code, lines[0].ok, lines[0].broken.table, lines[0].broken.row],
    [1, false, 'concerns', CONCERN.id],
  );
});

test('a file of another user is not reported as missing', async (t) => {
  const { file, open } = controlFile(t, log);
  const store = open();
  await refuseSome(store, 1);
  await store.close();
  const home = homeAt(t, 'nats://127.0.0.1:1');
  const asRoot = process.getuid?.() === 0;
  if (asRoot) chownSync(dirname(file), NOBODY, NOBODY);
  else chmodSync(dirname(file), 0o000);
  const { code, lines, stderr } = await askBy(asRoot ? LIKE_OTHERS : [], file, home, '--verify-audit');
  chmodSync(dirname(file), 0o700);
  assert.deepEqual([code, lines], [1, []]);
  assert.match(stderr, /control\.db cannot be read: run this as its owner/);
});

test('a published head that the file lacks is reported', { timeout: 60_000 }, async (t) => {
  const trader = {
    user: 'trader',
    password: 'trader-pw',
    permissions: busPermissions('trader', { control: true }),
  };
  const nats = await startNatsServer(t, { users: [{ user: 'setup', password: 'setup-pw' }, trader] });
  await setUpStreams({
    connection: { servers: [nats.url], name: 't', user: 'setup', pass: 'setup-pw' },
    log,
  });
  const home = homeAt(t, nats.url);
  const { file, open, tamper } = controlFile(t, log);
  const store = open();
  await refuseSome(store, 3);
  const empty = await ask(file, home, '--verify-audit');
  assert.deepEqual([empty.code, empty.lines[0]?.published], [0, { state: 'asked', seq: null, hash: null }]);

  const heads = startHeadPublisher({
    connection: {
      servers: [nats.url],
      name: 't',
      user: 'trader',
      pass: 'trader-pw',
      inboxPrefix: inboxPrefix('trader'),
    },
    service: 'trader',
    head: () => ({ store: store.id, ...store.head() }),
    check: async () => undefined,
    clock: systemClock,
    log,
  });
  t.after(() => heads.close());
  assert.equal(await heads.flush(20_000), true);
  const whole = await ask(file, home, '--verify-audit');
  assert.deepEqual([whole.code, whole.lines[0].published.seq], [0, 3]);

  await store.close();
  tamper("DELETE FROM audit WHERE seq = 3; UPDATE sqlite_sequence SET seq = 2 WHERE name = 'audit'");
  const cut = await ask(file, home, '--verify-audit');
  assert.deepEqual([cut.code, cut.lines[0].ok, cut.lines[0].broken.seq], [1, false, 3]);
});

test('what the console has seen is compared, and an accepted loss is named', async (t) => {
  const { file, open } = controlFile(t, log);
  const store = open();
  await refuseSome(store, 3);
  const home = homeAt(t, 'nats://127.0.0.1:1');
  const [second] = store.audit(1, 1);
  const head = (seq: number, hash: string, service = 'trader') => ({ service, store: store.id, seq, hash });
  const verify = async (heads: unknown) => {
    const { code, lines, stderr } = await ask(
      file,
      home,
      '--verify-audit',
      '--witness',
      JSON.stringify(heads),
    );
    return { code, stderr, report: lines[0] };
  };
  const other = head(9, 'c'.repeat(64), 'another');
  const fine = await verify({ heads: [head(2, second?.hash ?? ''), other] });
  assert.deepEqual(
    [fine.code, fine.report.witness.heads.map((each: JsonObject) => each.verdict)],
    [0, ['ok']],
  );
  for (const [seq, hash] of [
    [2, 'a'],
    [7, 'b'],
  ] as const) {
    const { code, report } = await verify({ heads: [head(seq, hash.repeat(64))] });
    assert.deepEqual([code, report.ok, report.broken.seq], [1, false, seq]);
    assert.match(report.broken.reason, /the console has seen a record here/);
  }
  const away = await verify({ problem: 'it is away' });
  assert.deepEqual([away.code, away.report.witness], [0, { state: 'not asked', reason: 'it is away' }]);
  assert.match((await verify({ heads: 1 })).stderr, /--witness has no heads/);

  const lost = { store: store.id, seq: 7, hash: 'b'.repeat(64) };
  const broken = { seq: 4, reason: 'a test' };
  const { seq } = await store
    .verifier()
    .accept({ caller: 'operator', reason: 'seen', broken, published: lost });
  const accepted = await verify({ heads: [head(7, lost.hash)] });
  assert.deepEqual(
    [accepted.code, accepted.report.witness.heads[0].verdict, accepted.report.witness.heads[0].accepted_in],
    [0, 'accepted', seq],
  );
});
