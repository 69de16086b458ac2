import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { initKeys, keyPaths } from '@hermes-fleet/cli';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { stringify } from 'yaml';
import { withoutEngine } from './engine.ts';
import { ROOT, runProgram, until } from './fleet.ts';
import { freeOffset } from './ports.ts';
import type { Target } from './rpc.ts';
import { SHIPPED_SERVICES } from './shipped.ts';

const UP_MS = 180_000;
const BUILD_MS = 600_000;
/** Each look starts a program. */
const LOOK_MS = 1_000;
const NODE_LABELS = ['hermes-fleet.state', 'hermes-fleet.workers'];

/** A fleet on the Swarm of this machine's engine: switch, neo and replicas of neo, on one node. */
export interface SwarmFleet {
  readonly stack: string;
  /** switch, as the operator sees it. */
  readonly operator: Target;
  /** `docker` with these arguments; its output. Throws when it fails. */
  docker(...args: string[]): Promise<string>;
  /** Deploys or updates the stack with this image and number of replicas. */
  deploy(options: { readonly image: string; readonly replicas: number }): Promise<void>;
  /** The image, and another tag of it. */
  readonly images: readonly [string, string];
  /** The id of the container that runs a replica of neo now. */
  replicaContainer(number: number): Promise<string>;
  /** Waits until an update of a service is over; fails if it was rolled back. */
  untilUpdated(service: string): Promise<void>;
}

/** Why no stack can be deployed here, or false. */
export function withoutSwarm(): string | false {
  const without = withoutEngine();
  if (without) return without;
  const { stdout } = spawnSync(
    'docker',
    ['info', '--format', '{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}'],
    {
      encoding: 'utf8',
    },
  );
  const [state, isManager] = stdout.trim().split(' ');
  return state === 'active' && isManager !== 'true' ? 'this engine is a worker of a Swarm' : false;
}

const changed = (file: string, edit: (text: string) => string): void =>
  writeFileSync(file, edit(readFileSync(file, 'utf8')));

/** Deploys the stack; when the test ends, it goes with its volumes and secrets, and the Swarm if the test made it. */
export async function startSwarmFleet(t: TestContext, replicas: number): Promise<SwarmFleet> {
  const stack = `hermes-test-${randomBytes(4).toString('hex')}`;
  const image = `hermes-fleet:test-${createHash('sha256').update(ROOT).digest('hex').slice(0, 8)}`;
  const next = `${image}-next`;
  const docker = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram('docker', args, { timeoutMs: BUILD_MS });
    if (code !== 0) throw new Error(`docker ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
    return stdout.trim();
  };
  const listed = async (...args: string[]): Promise<string[]> =>
    (await docker(...args)).split('\n').filter((line) => line !== '');

  await docker('build', '--quiet', '--tag', image, '--tag', next, '--file', 'deploy/docker/Dockerfile', '.');
  const isActive = (await docker('info', '--format', '{{.Swarm.LocalNodeState}}')) === 'active';
  let node = '';
  const added: string[] = [];
  const dir = tempDir(t, {
    closeFirst: async () => {
      await docker('stack', 'rm', stack);
      const filter = `name=^${stack}_`;
      const left = async (): Promise<boolean> =>
        (await listed('ps', '--all', '--quiet', '--filter', `name=^/?${stack}_`)).length > 0;
      await until(async () => !(await left()), 'the containers of the stack to go', 120_000, LOOK_MS);
      await until(
        async () => (await listed('network', 'ls', '--quiet', '--filter', filter)).length === 0,
        'its network to go',
        60_000,
        LOOK_MS,
      );
      for (const volume of await listed('volume', 'ls', '--quiet', '--filter', filter))
        await docker('volume', 'rm', volume);
      for (const secret of await listed(
        'secret',
        'ls',
        '--quiet',
        '--filter',
        `label=hermes-fleet.stack=${stack}`,
      ))
        await docker('secret', 'rm', secret);
      for (const label of isActive ? added : []) await docker('node', 'update', '--label-rm', label, node);
      if (!isActive) await docker('swarm', 'leave', '--force');
      await docker('image', 'rm', next);
    },
  });
  if (!isActive) await docker('swarm', 'init', '--advertise-addr', '127.0.0.1');
  node = await docker('info', '--format', '{{.Swarm.NodeID}}');
  const labels = await docker(
    'node',
    'inspect',
    node,
    '--format',
    '{{range $k, $v := .Spec.Labels}}{{$k}}={{$v}} {{end}}',
  );
  added.push(...NODE_LABELS.filter((label) => !labels.includes(`${label}=true`)));
  for (const label of added) await docker('node', 'update', '--label-add', `${label}=true`, node);

  const keys = join(dir, 'keys');
  initKeys({
    dir: keys,
    services: SHIPPED_SERVICES,
    replicas: new Map([['neo', 6]]),
    nats: { storeDir: '/data', host: '0.0.0.0', port: 4222, monitorPort: 8222, syncAlways: true },
  });
  const deployDir = join(dir, 'deploy');
  for (const folder of ['profiles', 'trader', 'console'])
    cpSync(join(ROOT, 'deploy', folder), join(deployDir, folder), { recursive: true });
  // Instances of MCP servers would be most of the memory of seven workers on one machine.
  for (const profile of ['switch', 'neo'])
    changed(join(deployDir, 'profiles', profile, 'config.yaml'), () => 'model: offline/runbook\n');
  const none = { deploy: { replicas: 0 } };
  const quick = { deploy: { update_config: { parallelism: 3, monitor: '3s' } } };
  const override = join(dir, 'test.yml');
  writeFileSync(
    override,
    stringify({
      version: '3.9',
      services: {
        morpheus: none,
        trinity: none,
        trader: none,
        console: none,
        'neo-pool': quick,
        switch: quick,
        neo: quick,
      },
    }),
  );
  const port = 9219 + (await freeOffset());
  const deploy: SwarmFleet['deploy'] = async (options) => {
    const { code, stdout, stderr } = await runProgram(
      'sh',
      [join(ROOT, 'deploy/swarm/up.sh'), stack, keys, join(ROOT, 'deploy/swarm/ports.yml'), override],
      {
        env: {
          ...process.env,
          FLEET_IMAGE: options.image,
          NEO_POOL: String(options.replicas),
          SWITCH_PORT: String(port),
          CONSOLE_PORT: String(port + 5),
          PROFILE_MEMORY: '512M',
          DEPLOY_DIR: deployDir,
          DRAIN_S: '60',
          POOL_STOP: '90s',
        },
        timeoutMs: UP_MS,
      },
    );
    if (code !== 0) throw new Error(`up.sh: exit code ${code}\n${stdout}${stderr}`);
  };
  await deploy({ image, replicas });
  return {
    stack,
    operator: {
      url: `http://127.0.0.1:${port}`,
      token: readFileSync(keyPaths(keys).operatorToken, 'utf8').trim(),
    },
    docker,
    deploy,
    images: [image, next],
    async replicaContainer(number) {
      const [id] = await listed('ps', '--quiet', '--filter', `name=^/?${stack}_neo-pool\\.${number}\\.`);
      if (id === undefined) throw new Error(`no container runs neo-${number}`);
      return id;
    },
    async untilUpdated(service) {
      const state = (): Promise<string> =>
        docker(
          'service',
          'inspect',
          `${stack}_${service}`,
          '--format',
          '{{if .UpdateStatus}}{{.UpdateStatus.State}}{{end}}',
        );
      await until(
        async () => {
          const now = await state();
          if (now.startsWith('rollback') || now === 'paused')
            throw new Error(`the update of ${service} is ${now}`);
          return now === 'completed';
        },
        `${service} to be updated`,
        UP_MS,
        LOOK_MS,
      );
    },
  };
}
