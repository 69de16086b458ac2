import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { landlockHelper, withoutLandlock } from '../../testing/landlock-helper.ts';
import { FORBID, memoryFile, onTheirWay, PERL, PYTHON, withoutPython } from '../../testing/memory-attacks.ts';
import { closedToOthers, nodeForOthers } from '../../testing/other-users.ts';
import { ownMemoryGroups } from './memory-room.ts';

const GIB = 1024 ** 3;
const USER = 1500;

/** Reason to skip, or false: the attacks need a control group that ends nothing but them. */
const skip = withoutGroup() || closedToOthers(import.meta.filename);

function withoutGroup(): string | false {
  if (process.getuid?.() !== 0) return 'only root can make a control group';
  try {
    rmdirSync(makeGroup());
    return false;
  } catch (error) {
    return `no control group of memory can be made here: ${String(error)}`;
  }
}

/** A control group of 1 GiB below the one of this process, of version 1. */
function makeGroup(): string {
  const [own] = ownMemoryGroups().filter(({ version }) => version === 1);
  assert.ok(own, 'there are no control groups of version 1');
  const dir = join(own.dir, `hermes-test-${randomUUID()}`);
  mkdirSync(dir);
  writeFileSync(join(dir, 'memory.limit_in_bytes'), String(GIB));
  return dir;
}

/** How a gateway confines, and the programs before it that make its process so. */
interface Gateway {
  readonly confine: 'bubblewrap' | 'uid';
  readonly as: readonly string[];
  readonly landlock?: boolean;
  readonly skip?: string | false;
}

const asUser = ['setpriv', '--reuid', `${USER}`, '--regid', `${USER}`, '--clear-groups'];
const caps = '+setuid,+setgid,+kill';
const asInContainers = [
  ...asUser.slice(0, -1),
  '--groups',
  `${USER},1001`,
  '--inh-caps',
  caps,
  '--ambient-caps',
  caps,
];
const GATEWAYS: Record<string, Gateway> = {
  'bubblewrap, with a gateway of root': { confine: 'bubblewrap', as: [] },
  'bubblewrap, with a gateway of a user': { confine: 'bubblewrap', as: [...asUser, '--inh-caps=-all'] },
  'users of their own, with Landlock': {
    confine: 'uid',
    as: asInContainers,
    landlock: true,
    skip: withoutLandlock,
  },
  'users of their own': { confine: 'uid', as: asInContainers },
};

const SCORE = 'echo 0 > /proc/self/oom_score_adj;';
const ATTACKS: Record<string, { readonly script: string; readonly skip?: string | false }> = {
  'a memory file': { script: `${SCORE} exec ${PERL} -e '${memoryFile(3000)}'` },
  'a memory file that nobody may look at': {
    script: `${SCORE} exec ${PERL} -e '${FORBID} ${memoryFile(3000)}'`,
  },
  'memory files on their way through a socket': {
    script: `${SCORE} exec ${PYTHON} -c "${onTheirWay(3000)}"`,
    skip: withoutPython,
  },
};

/**
 * A gateway with two contexts: one uses some memory, prints and waits, the other attacks. Prints how the attack ended, and
 * whether the neighbour still prints once its memory is free again.
 */
const GATEWAY = `
  import { readFileSync } from 'node:fs';
  import { join } from 'node:path';
  import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
  import { COMMAND_ENV, createConfinement, defaultMemoryMb, runCommand, startBackground } from './src/index.ts';
  const { options, attack, group } = JSON.parse(process.argv[1]);
  const limits = { processes: 0, memoryMb: defaultMemoryMb(), dataMb: 0, fileMb: 0, openFiles: 16384, cpuS: 0 };
  const confinement = await createConfinement({ ...options, limits, clock: systemClock, log: silentLog });
  const line = async (name, script) => {
    const lease = await confinement.users?.lease(join(options.workspaceRoot, 'contexts', name));
    return confinement.wrap('/bin/sh', ['-c', script], { writable: [], readOnly: [], user: lease?.user });
  };
  const env = COMMAND_ENV;
  const wait = 'use strict; my $b = "a" x (40 << 20); $| = 1; while (1) { print "up"; select undef, undef, undef, 0.1 }';
  const neighbour = await startBackground(await line('neighbour', "exec ${PERL} -e '" + wait + "'"),
    { cwd: '/', env, keepBytes: 100, clock: systemClock });
  await neighbour.change(20_000, AbortSignal.timeout(20_000));
  const { stdout, killed, limit } = await runCommand(await line('attacker', attack),
    { cwd: '/', env, timeoutMs: 60_000, keepBytes: 4096, maxBytes: 1e6, clock: systemClock });
  const used = () => Number(readFileSync(join(group, 'memory.usage_in_bytes'), 'utf8'));
  for (let steps = 0; steps < 20 && used() > ${GIB / 2}; steps += 1) await systemClock.sleep(50);
  // What it prints after this is an answer: the first may have been on its way already.
  for (let times = 0; times < 2; times += 1) await neighbour.change(20_000, AbortSignal.timeout(20_000));
  console.log(JSON.stringify({ note: confinement.note, stdout, killed, limit, neighbour: neighbour.end() ?? 'lives' }));
  await neighbour.stop();
  process.exit();
`;

function attackFrom(t: TestContext, gateway: Gateway, attack: string) {
  const root = tempDir(t);
  chmodSync(root, 0o711);
  const [workspaceRoot = '', stateDir = ''] = ['workspace', 'state'].map((name) => join(root, name));
  for (const path of [workspaceRoot, stateDir]) {
    mkdirSync(path, { mode: 0o700 });
    if (gateway.as.length > 0) chownSync(path, USER, USER);
  }
  const programs = { landlock: gateway.landlock ? landlockHelper() : '/nowhere/helper' };
  const options = { confine: gateway.confine, workspaceRoot, stateDir, programs };
  const group = makeGroup();
  t.after(async () => {
    // The kernel frees what the last process had a moment after its end.
    for (let left = 100; left > 0; left -= 1)
      try {
        return rmdirSync(group);
      } catch {
        await systemClock.sleep(50);
      }
    rmdirSync(group);
  });
  const node = [
    nodeForOthers(t),
    '--input-type=module',
    '--eval',
    GATEWAY,
    JSON.stringify({ options, attack, group }),
  ];
  const into = ['-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', group];
  const ran = spawnSync('/bin/sh', [...into, ...gateway.as, ...node], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
    timeout: 120_000,
  });
  assert.equal(ran.status, 0, `the gateway ended: ${ran.signal} ${ran.stderr}`);
  return JSON.parse(ran.stdout);
}

/**
 * The gateway looks at memory every few milliseconds, and an attack can fill a small group faster than that: then the kernel ends
 * whom it likes. One attack of so many has to be seen in time.
 */
const TRIES = 4;

function attackWithoutHarm(t: TestContext, gateway: Gateway, attack: string): void {
  const found = attackFrom(t, gateway, attack);
  assert.equal(found.killed, 'limit', JSON.stringify(found));
  assert.match(
    found.limit,
    /^its processes used \d+ MiB of memory, and the limit is 512 |^the memory of this control group is nearly used up .* this one held the most/,
  );
  assert.equal(found.neighbour, 'lives');
}

for (const [name, gateway] of Object.entries(GATEWAYS))
  for (const [what, attack] of Object.entries(ATTACKS))
    test(`${what} ends the command that made it, and neither its neighbour nor the gateway (${name})`, {
      skip: skip || gateway.skip || attack.skip || false,
    }, (t) => {
      for (let left = TRIES; ; left -= 1)
        try {
          return attackWithoutHarm(t, gateway, attack.script);
        } catch (error) {
          if (left === 1) throw error;
          t.diagnostic(`not seen in time: ${error}`);
        }
    });
