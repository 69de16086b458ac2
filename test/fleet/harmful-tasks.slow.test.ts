import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { shell, tool } from '../support/agent-work.ts';
import { startFleet } from '../support/fleet.ts';
import { call, type DispatchOptions, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const LIMITS = `
workspace: { max_mb: 100 }
tools: { shell: { limits: { processes: 1000, memory_mb: 300, file_mb: 40 } } }
`;
const FULL = '\nworkspace: { min_free_mb: 1000000000 }\n';

/** neo limits its commands, and the disk of morpheus counts as nearly full. */
function configYaml(profile: string, shipped: string): string {
  if (profile === 'neo') return shipped + LIMITS;
  return profile === 'morpheus' ? shipped + FULL : shipped;
}

/** Subscribes to all subjects without a login, and prints the answer of the server. */
const READ_NATS = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  let text = "";
  socket.on("data", (data) => { text += data; });
  socket.on("close", () => { console.log(text.replace(/\\s+/g, " ").slice(-300)); });
  socket.setTimeout(5000, () => socket.destroy());
  socket.write("CONNECT {}\\r\\nSUB > 1\\r\\nPING\\r\\n");`;

/**
 * A brief that leaves a secret wherever a task can, then searches everything that it can reach for its own and for another
 * one, and asks NATS for all messages.
 */
function searching(own: string, theirs: string, natsPort: number): string {
  // The expression does not match itself.
  const pattern = (secret: string): string => `${secret.slice(0, -1)}[${secret.slice(-1)}]`;
  const plant = `echo began $(date +%s%N); echo ${own} > secret.txt; git add -A; git commit -qm ${own}
    for d in /tmp "$TMPDIR" "$HOME" /dev/shm /var/tmp .scratch; do mkdir -p $d; cp secret.txt $d/${own}; done
    SECRET=${own} sh -c 'sleep 8' ${own} & sleep 4
    look() { { grep -rsa "$1" /tmp /var/tmp /dev/shm /home /root /run /mnt /srv "$HOME" "$TMPDIR" ../../.. ;
      for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/fd/*; do
        case $f in */fd/[012]) ;; *) timeout 1 head -c 100000 "$f" ;; esac; done;
      git cat-file --batch-all-objects --batch; cat /proc/net/unix; ipcs -a; } 2>/dev/null | grep -a "$1" >/dev/null && echo "found: $2"; }
    echo "NATS says: $(node -e '${READ_NATS}' ${natsPort})"
    look '${pattern(own)}' own; look '${pattern(theirs)}' theirs; wait; echo ended $(date +%s%N)`;
  const search = { path: '.', pattern: `**/${theirs.slice(0, 4)}*` };
  const note = { name: own, content: own };
  return [
    tool('scratchpad_write', note),
    shell(plant),
    tool('mcp__filesystem__search_files', search),
    tool('scratchpad_list', {}),
  ].join('\n\n');
}

interface Sending {
  readonly to?: string;
  readonly token?: string;
  readonly contextId?: string;
}

test('a task can harm no other task and not its profile', { timeout: 600_000 }, async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo', 'morpheus'], {
    env: { A_SECRET_OF_THE_GATEWAY: 'visible-to-nobody-else' },
    mcpServers: ['filesystem'],
    configYaml,
  });
  const send = async (sent: DispatchOptions, { to = 'neo', contextId, token }: Sending = {}) => {
    const params = message(dispatch(sent), contextId === undefined ? {} : { contextId });
    const target = token === undefined ? fleet.target(to) : fleet.target(to, token);
    return resultOf((await call(target, 'SendMessage', params)).body.result.task);
  };
  const run = (brief: string, contextId?: string) =>
    send({ brief }, contextId === undefined ? {} : { contextId });
  const ready = () => fetch(`${fleet.target('neo').url}/ready`);
  const { pid } = fleet.process('neo');

  const victim = await run(runbook('secret.txt', 'the victim knows', 'pwd', 'git rev-parse HEAD'), 'victim');
  assert.equal(victim.status, 'done', JSON.stringify(victim));
  const tree = /^ +(\/.*)$/m.exec(victim.text)?.[1] ?? assert.fail(victim.text);

  await t.test('a command reads neither token, ledger nor environment of its gateway', async () => {
    const keys = join(fleet.dir, 'keys/neo');
    const state = join(fleet.dir, 'state/neo');
    assert.ok(readdirSync(keys).length > 0);
    assert.ok(readdirSync(state).includes('ledger.db'), readdirSync(state).join());
    const { dependencies } = JSON.parse(await (await ready()).text());
    assert.match(dependencies.commands.detail, /^shell commands run confined by (bubblewrap|uid)/);
    for (const command of [
      `cat ${keys}/*`,
      `ls ${keys}`,
      `cat ${join(fleet.dir, 'keys/operator/token')}`,
      `cat ${state}/ledger.db`,
      `ls ${state}`,
      `cat /proc/${pid}/environ`,
      'cat /proc/*/environ | tr "\\0" "\\n" | grep A_SECRET_OF_THE_GATEWAY',
      'env | grep -i -e TOKEN -e SECRET -e PASSWORD',
      `kill -0 ${pid}`,
    ]) {
      const result = await run(
        runbook('a.txt', 'a', `if ${command}; then echo REACHED; else echo DENIED; fi`),
      );
      assert.equal(result.status, 'done', JSON.stringify(result));
      assert.match(result.text, /DENIED/, `${command}: ${result.text}`);
      assert.doesNotMatch(result.text, /REACHED\n|visible-to-nobody-else/, command);
    }
    const ordinary = ['id -u', 'git status --porcelain', 'echo written > b.txt', 'cat b.txt'];
    const { artifacts } = await run(runbook('a.txt', 'a', ...ordinary));
    assert.deepEqual(artifacts.files_changed.sort(), ['a.txt', 'b.txt']);
  });

  await t.test('a task that removes its repository disables neither its profile nor others', async () => {
    const attack = 'd=$(git rev-parse --git-common-dir); rm -rf $d/objects $d/refs; echo kept > kept.txt';
    const attacked = await run(shell(attack), 'attacker');
    assert.deepEqual(attacked.artifacts.files_changed, ['kept.txt'], JSON.stringify(attacked));
    assert.equal((await ready()).status, 200);
    for (const context of ['victim', 'attacker', 'newcomer']) {
      const next = await run(runbook('next.txt', 'work', 'cat next.txt; git log --format=%s'), context);
      assert.deepEqual([next.status, next.artifacts.files_changed], ['done', ['next.txt']], context);
    }
  });

  await t.test("others' branches are neither read nor rewritten", async () => {
    const { text } = await run(
      shell('git hash-object -t blob --stdin <secret.txt; cat secret.txt'),
      'victim',
    );
    const blob = /\b[0-9a-f]{40}\b/.exec(text)?.[0] ?? assert.fail(text);
    for (const attack of [
      'git show fleet/victim:secret.txt',
      `git cat-file -p ${blob}`,
      'git log --all -p | grep victim',
      'git fetch -q ../../../results.git fleet/victim && git show FETCH_HEAD:secret.txt',
      `echo "$(cd ../../..; pwd)/results.git/objects" >> .git/objects/info/alternates; git cat-file -p ${blob}`,
      `git update-index --add --cacheinfo 100644,${blob},mine.txt; git commit -qm x; git show HEAD:mine.txt`,
      'cat ../../victim/tree/secret.txt',
      'ls ../.. | grep victim',
      'echo x > ../../victim/tree/planted.txt',
    ]) {
      const attacked = await run(shell(attack));
      assert.notEqual(attacked.status, 'done', `${attack}: ${attacked.text}`);
      assert.doesNotMatch(attacked.text, /the victim knows/, attack);
    }
    await run(shell('git update-ref refs/heads/fleet/victim HEAD; git checkout -q -B fleet/victim'));
    const next = await run(shell('cat secret.txt; ls; git log --format=%s | wc -l'), 'victim');
    assert.match(next.text, /the victim knows/);
    assert.doesNotMatch(next.text, /planted/);
    assert.equal((await ready()).status, 200);
  });

  await t.test('two tasks of two callers at once find nothing of each other', async () => {
    const nats = fleet.plan.nats.port;
    const [one, two] = await Promise.all([
      run(searching('alpha-5e1f', 'beta-77c2', nats), 'alpha'),
      send(
        { brief: searching('beta-77c2', 'alpha-5e1f', nats) },
        { contextId: 'beta', token: await fleet.tokenOf('switch', 'neo') },
      ),
    ]);
    assert.doesNotMatch(one.text, /beta-77c2/);
    assert.doesNotMatch(two.text, /alpha-5e1f/);
    const spans = [one, two].map(({ text }) => {
      assert.match(text, /exit code 0/);
      const [, from, to] = /began (\d+)[\s\S]*ended (\d+)/.exec(text) ?? assert.fail(text);
      assert.match(text, /found: own\b/, `a task finds what is its own: ${text}`);
      assert.match(text, /NATS says: .*Authorization Violation/, 'nobody reads the bus without a login');
      assert.doesNotMatch(text, /found: theirs/, text);
      return { from: Number(from), to: Number(to) };
    });
    const [a, b] = spans;
    assert.ok(a && b && a.from < b.to && b.from < a.to, `they ran at once: ${JSON.stringify(spans)}`);
  });

  await t.test('the shipped filesystem server finds nothing of another context', async () => {
    const requirements = { required_mcp: ['filesystem'] };
    const own = await send({
      brief: [
        tool('mcp__filesystem__write_file', { path: 'own.txt', content: 'ordinary work' }),
        shell('cat own.txt'),
      ].join('\n\n'),
      requirements,
    });
    assert.equal(own.status, 'done', JSON.stringify(own));
    assert.deepEqual(own.artifacts.files_changed, ['own.txt']);
    const secret = join(tree, 'secret.txt');
    const workspace = join(fleet.dir, 'workspaces/neo');
    for (const [name, input] of [
      ['read_text_file', { path: secret }],
      ['write_file', { path: secret, content: 'rewritten' }],
      ['edit_file', { path: secret, edits: [{ oldText: 'knows', newText: 'forgets' }] }],
      ['list_directory', { path: dirname(tree) }],
      ['search_files', { path: workspace, pattern: '**/secret*' }],
      ['directory_tree', { path: workspace }],
      ['write_file', { path: join(workspace, 'repo/.git/hooks/pre-commit'), content: 'planted' }],
      ['write_file', { path: join(workspace, 'mcp/memory.jsonl'), content: 'planted' }],
    ] as const) {
      const attack = await send({ brief: tool(`mcp__filesystem__${name}`, input), requirements });
      assert.match(
        attack.text,
        new RegExp(`called mcp__filesystem__${name}: failed`),
        JSON.stringify(attack),
      );
      assert.doesNotMatch(attack.text, /the victim knows/);
    }
    assert.equal(readFileSync(secret, 'utf8').trim(), 'the victim knows');
  });

  await t.test(
    'a command that takes memory, processes, disk or a large file is ended and told why; its neighbour goes on',
    async () => {
      const hog = 'head -c 90M /dev/zero | tail -c 89M | sleep 100 &';
      const fine = runbook('a.txt', 'a', 'echo fine');
      for (const [command, says] of [
        [`${Array(12).fill(hog).join(' ')} wait`, /used \d+ MiB of memory, and the limit is 300/],
        [
          'i=0; while [ $i -lt 3000 ]; do sleep 100 & i=$((i+1)); done',
          /EAGAIN.*1000 together \(tools\.shell\.limits\.processes\)/,
        ],
        [
          'i=0; while :; do head -c 20M /dev/zero > fill$i; i=$((i+1)); sleep 0.2; done',
          /files of this task take \d+ MiB of disk, and the limit is 100/,
        ],
        ['head -c 60M /dev/zero > fill', /SIGXFSZ: a file would exceed 40 MiB/],
      ] as const) {
        const attacking = run(runbook('a.txt', 'a', command));
        const neighbour = await run(fine);
        assert.equal(neighbour.status, 'done', JSON.stringify(neighbour));
        const attacked = await attacking;
        assert.notEqual(attacked.status, 'done', command);
        assert.match(attacked.text, says, `${command}: ${JSON.stringify(attacked)}`);
        assert.equal((await run(fine)).status, 'done', command);
      }
    },
  );

  await t.test('a worker whose disk is nearly full gets no task, which costs it no token', async () => {
    const brief = runbook('a.txt', 'a', 'echo fine');
    const direct = await send({ brief }, { to: 'morpheus' });
    assert.deepEqual([direct.status, direct.tokens_spent], ['blocked', 0]);
    assert.deepEqual(
      direct.unmet.map(({ kind, name, transient }: Record<string, unknown>) => [kind, name, transient]),
      [['capacity', 'disk', true]],
    );
    const routed = await send({ brief, routing: { prefer: ['morpheus'] } }, { to: 'switch' });
    assert.deepEqual([routed.status, routed.executed_by], ['done', 'neo'], JSON.stringify(routed));
  });

  assert.equal(fleet.process('neo').pid, pid, 'the gateway is the same process');
  assert.equal((await ready()).status, 200);
});
