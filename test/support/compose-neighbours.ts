import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { ComposeFleet } from './compose.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from './rpc.ts';

type Fleet = Pick<ComposeFleet, 'inside' | 'untilInside' | 'inspect'>;

/** Tasks of one profile, each in a context of its own choice, and the marks that their commands wait for. */
function tasksOf(fleet: Fleet, profile: string, target: Target) {
  const run = async (contextId: string, brief: string) => {
    const sent = message(dispatch({ brief, task: { token_budget: 1_000_000 } }), { contextId });
    const { body } = await call(target, 'SendMessage', sent);
    const result = resultOf(body.result?.task);
    assert.ok(result, JSON.stringify(body));
    return result;
  };
  const file = (context: string, name: string) => `/workspace/contexts/${context}/tree/${name}`;
  return {
    run,
    commands: (contextId: string, ...lines: string[]) => run(contextId, runbook('a.txt', 'a', ...lines)),
    mark: (context: string, name: string) => fleet.inside(profile, `touch ${file(context, name)}`),
    marked: (context: string, name: string) => fleet.untilInside(profile, `test -e ${file(context, name)}`),
    ready: async () => (await fetch(`${target.url}/ready`)).status,
  };
}

const tool = (name: string, input: object): string =>
  `\`\`\`tool mcp__filesystem__${name}\n${JSON.stringify(input)}\n\`\`\``;

/** A task searches all that it can reach for the secret of a neighbour that runs at the same time. */
export async function searchNeighbour(fleet: Fleet, target: Target): Promise<void> {
  const { run, commands, mark, marked } = tasksOf(fleet, 'neo', target);
  const secret = `secret-of-victim-${randomBytes(8).toString('hex')}`;
  const blob = createHash('sha1')
    .update(`blob ${secret.length + 1}\0${secret}\n`)
    .digest('hex');
  // The pattern does not match itself in a command line.
  const find = "grep -aoE 'of-[v]ictim-[0-9a-f]{16}'";
  const places = ['tree/secret.txt', 'home/secret', 'tmp/secret'].map(
    (path) => `/workspace/contexts/victim/${path}`,
  );
  const searches = [
    `cat ${places.join(' ')} /tmp/victim /dev/shm/victim 2>/dev/null | ${find}`,
    `grep -rahsE 'of-[v]ictim-[0-9a-f]{16}' /workspace/contexts/victim/tree /workspace/contexts /tmp /dev/shm /run /state | ${find}`,
    `ln -sf /workspace/contexts/victim/tree link; cat link/secret.txt 2>/dev/null | ${find}`,
    `cat /proc/[0-9]*/environ /proc/[0-9]*/cwd/secret.txt /proc/[0-9]*/root/tmp/victim 2>/dev/null | ${find}`,
    `git cat-file -p ${blob} 2>/dev/null | ${find}; git log --all -p | ${find}`,
    `git --git-dir=/workspace/results.git show fleet/victim:secret.txt 2>/dev/null | ${find}`,
  ].map((search, index) => `echo search ${index}; ${search}; true`);
  const attempts = [
    tool('read_text_file', { path: places[0] }),
    tool('write_file', { path: places[0], content: 'rewritten' }),
    tool('list_directory', { path: '/workspace/contexts' }),
  ];
  const hide = 'for f in $HOME/secret $TMPDIR/secret /tmp/victim /dev/shm/victim; do cp secret.txt $f; done';
  const wait = 'while [ ! -e stop ]; do sleep 0.1; done; cat secret.txt';
  const begin = `git add secret.txt; git commit -qm x; ${hide}; S=$(cat secret.txt); export S; touch begun`;
  const victim = run('victim', runbook('secret.txt', secret, `${begin}; ${wait}`));
  await marked('victim', 'begun');

  const found = await commands('attacker', ...searches, 'kill -9 -1', 'echo attacked');
  assert.match(found.text, /search 5[\s\S]*attacked/, JSON.stringify(found));
  assert.doesNotMatch(found.text, new RegExp(secret.slice(-16)));
  for (const attempt of attempts) {
    const { text } = await run('attacker', attempt);
    assert.match(text, /called mcp__filesystem__\w+: failed/);
    assert.doesNotMatch(text, new RegExp(secret.slice(-16)));
  }
  await mark('victim', 'stop');
  const { text } = await victim;
  assert.match(text, new RegExp(`exit code 0\\s+${secret}\n`), 'it was neither ended nor rewritten');
  const own = await commands('victim', ...searches);
  for (const index of [0, 1, 2, 4])
    assert.match(
      own.text,
      new RegExp(`search ${index}\\s+of-victim-`),
      `search ${index} finds nothing at all`,
    );
}

/** Starts processes until none can be started, keeps them until the mark `stop` is there, and replaces those that end. */
const SPAWN = `const { spawn } = require('child_process'); const fs = require('fs'); let next = 50;
const full = () => { next = 1; fs.writeFileSync('full', ''); };
setInterval(() => {
  if (fs.existsSync('stop')) process.exit();
  for (let i = 0; i < next; i++) try { spawn('sleep', ['100'], { stdio: 'ignore' }).on('error', full); } catch { full(); }
}, 50);`;

/** A task takes all the memory, processes and temporary files that it can: its neighbours and the profile go on. */
export async function exhaustProfile(fleet: Fleet, target: Target): Promise<void> {
  const { commands, mark, marked, ready } = tasksOf(fleet, 'neo', target);
  const { StartedAt: before } = (await fleet.inspect('neo')).State;
  const othersWork = async (what: string) => {
    const { status, text } = await commands('neighbour', 'node -e "console.log(6 * 7)"');
    assert.equal(status, 'done', `${what}: ${text}`);
    assert.equal(await ready(), 200, what);
  };
  const until = 'touch full; while [ ! -e stop ]; do sleep 0.1; done';
  const fill = (path: string) => `head -c 300M /dev/zero > ${path}; ls -l ${path} >&2; ${until}`;
  const hog = `head -c 90M /dev/zero | tail -c 89M | { ${until}; } &`;
  // It grows by 50 MB a second, so that the profile's limit holds before the container's, also on a busy machine.
  const grow = 'const kept = []; setInterval(() => kept.push(Buffer.alloc(5e6, 1)), 100)';
  const grown = await commands('grower', `node -e '${grow}'`);
  assert.match(grown.text, /its processes used \d+ MiB of memory, and the limit is \d+/);
  await othersWork('after a task at its limit of memory');
  const attacks: Record<string, readonly [command: string, says: RegExp]> = {
    tmp: [fill('/tmp/fill'), /No space left on device/],
    shm: [fill('/dev/shm/fill'), /No space left on device/],
    processes: [`node -e "${SPAWN.replaceAll('\n', ' ')}"`, /exit code 0/],
    // The profile's limit or the kernel ends something, or neither, by what the container needs for itself at the time.
    memory: [`${Array(12).fill(hog).join(' ')} wait`, /head -c 90M/],
  };
  for (const [what, [command, says]] of Object.entries(attacks)) {
    const attack = commands(what, command);
    await marked(what, 'full');
    for (let times = 0; times < 3; times += 1) await othersWork(what);
    await mark(what, 'stop');
    assert.match((await attack).text, says, what);
    await othersWork(`after ${what}`);
  }
  assert.equal((await fleet.inside('neo', 'ls -A /tmp /dev/shm | grep -v :; true')).trim(), '', 'leftovers');
  assert.equal((await fleet.inspect('neo')).State.StartedAt, before, 'the container is the same');
}
