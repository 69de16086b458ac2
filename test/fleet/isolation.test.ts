import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shell, tool } from '../support/agent-work.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

type Result = ReturnType<typeof resultOf>;

const run = async (fleet: Fleet, brief: string, contextId?: string, token?: string): Promise<Result> => {
  const target = token === undefined ? fleet.target('neo') : fleet.target('neo', token);
  const params = message(dispatch({ brief }), contextId === undefined ? {} : { contextId });
  const { body } = await call(target, 'SendMessage', params);
  return resultOf(body.result.task);
};

test('one task cannot harm another, nor the profile', { timeout: 280_000 }, async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo'], { mcpServers: ['filesystem'] });
  const ready = async (): Promise<number> => (await fetch(`${fleet.target('neo').url}/ready`)).status;
  const victim = await run(fleet, runbook('secret.txt', 'the victim knows', 'git rev-parse HEAD'), 'victim');
  assert.equal(victim.status, 'done', JSON.stringify(victim));

  await t.test('a profile disabled for ever', async () => {
    const attack = 'd=$(git rev-parse --git-common-dir); rm -rf $d/objects $d/refs; echo kept > kept.txt';
    const attacked = await run(fleet, shell(attack), 'attacker');
    assert.deepEqual(attacked.artifacts.files_changed, ['kept.txt'], JSON.stringify(attacked));
    assert.equal(await ready(), 200);
    for (const context of ['victim', 'attacker', 'newcomer']) {
      const next = await run(
        fleet,
        runbook('next.txt', 'work', 'cat next.txt; git log --format=%s'),
        context,
      );
      assert.deepEqual([next.status, next.artifacts.files_changed], ['done', ['next.txt']], context);
    }
  });

  await t.test("others' branches read and rewritten", async () => {
    const { text } = await run(
      fleet,
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
      const attacked = await run(fleet, shell(attack));
      assert.notEqual(attacked.status, 'done', `${attack}: ${attacked.text}`);
      assert.doesNotMatch(attacked.text, /the victim knows/, attack);
    }
    await run(fleet, shell('git update-ref refs/heads/fleet/victim HEAD; git checkout -q -B fleet/victim'));
    const next = await run(fleet, shell('cat secret.txt; ls; git log --format=%s | wc -l'), 'victim');
    assert.match(next.text, /the victim knows/);
    assert.doesNotMatch(next.text, /planted/);
    assert.equal(await ready(), 200);
  });

  await t.test('two tasks of two callers at once find nothing of each other', async () => {
    const nats = fleet.plan.nats.port;
    const [one, two] = await Promise.all([
      run(fleet, searching('alpha-5e1f', 'beta-77c2', nats), 'alpha'),
      run(fleet, searching('beta-77c2', 'alpha-5e1f', nats), 'beta', await fleet.tokenOf('switch', 'neo')),
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
});

/** Leaves a secret wherever a task can, then searches everything that it can reach for its own and for another one. */
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

/** Subscribes to all subjects without a login, and prints the answer of the server. */
const READ_NATS = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  let text = "";
  socket.on("data", (data) => { text += data; });
  socket.on("close", () => { console.log(text.replace(/\\s+/g, " ").slice(-300)); });
  socket.setTimeout(5000, () => socket.destroy());
  socket.write("CONNECT {}\\r\\nSUB > 1\\r\\nPING\\r\\n");`;
