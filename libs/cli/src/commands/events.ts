import { randomUUID } from 'node:crypto';
import { type BusConnection, consume } from '@hermes-fleet/events';
import { type CloudEvent, FleetError, LifecycleEvent } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { createLogger } from '@hermes-fleet/service';
import { command, type Values } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { untilStopped } from '../command-line/until-stopped.ts';
import { eventsUsage } from '../command-specs/fleet.ts';
import { compose, docker } from '../containers/docker.ts';
import { atEndOnHost, hostRequests } from '../containers/host-requests.ts';
import { wordsOf } from '../containers/inside.ts';
import { requireService } from '../containers/list-containers.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { OPERATOR } from '../keys/layout.ts';
import { connectionFromEnv, connectionFromKeys } from '../keys/nats-user.ts';
import { fleetInContainers, plannedFleet } from '../running/running-fleet.ts';

/**
 * `fleet events`: prints the task events that NATS holds, oldest first, as the operator (docs/cli.md#events). Returns 0 at
 * the end of the stream, or with `--follow` on Ctrl-C. Throws PEER_UNREACHABLE when NATS does not answer; with
 * `--follow`, a connection that breaks later is opened again, and no event is left out.
 */
const eventsCommand = command(eventsUsage, async ({ values, env, stdout, stderr, print }) => {
  const filter = `fleet.task.${profileToken(values.profile)}.${typeToken(values.type)}`;
  const follow = values.follow === true;
  const containers = await fleetInContainers(values, env);
  if (containers) {
    await requireService(containers, env, 'nats');
    return await eventsInContainers(containers, env, wordsOf(values), follow);
  }
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  if (follow) process.once('SIGINT', onInterrupt);
  let wasConnected = false;
  let failure: string | undefined;
  try {
    await consume({
      connection: connectionOf(values, env),
      filter,
      fromStart: true,
      untilEnd: !follow,
      signal: stop.signal,
      log: createLogger({ name: 'events', level: 'silent' }),
      clock: systemClock,
      onState: ({ connected, lastError }) => {
        if (connected) wasConnected = true;
        else if (follow && wasConnected)
          printLines(stderr, [`fleet: NATS is lost (${lastError}); trying again`]);
        else {
          failure = lastError ?? 'the connection was closed';
          stop.abort();
        }
      },
      onEvent: (event) => {
        const isOf = event.subject === values.task || event.data.task_id === values.task;
        if (values.task !== undefined && !isOf) return;
        if (print) print(event);
        else printLines(stdout, [lineOf(event)]);
      },
    });
  } finally {
    process.removeListener('SIGINT', onInterrupt);
  }
  if (failure !== undefined) throw new FleetError('PEER_UNREACHABLE', `events cannot be read: ${failure}`);
  return 0;
});

export const commands = [eventsCommand];

const INTERRUPTED = 130;

/** Reads in a container of its own: only the network of the fleet reaches NATS, and only this job has the keys of the operator. */
async function eventsInContainers(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  words: readonly string[],
  follow: boolean,
): Promise<number> {
  const name = `fleet-events-${randomUUID()}`;
  const args = ['run', '--rm', '--no-deps', '-T', '--name', name, 'events', ...words];
  const remove = ['rm', '--force', name];
  const requests = hostRequests(env);
  const code = await untilStopped(
    async (signal) => {
      using _end = requests === undefined ? undefined : atEndOnHost(requests, '/', ['docker', ...remove]);
      let ended: number | undefined;
      try {
        ended = (await compose(folder, args, { output: 'inherit', env, signal })).code;
        return ended;
      } finally {
        // Compose leaves the container of a command that was interrupted.
        if (ended !== 0) await docker(remove, { output: 'text', env });
      }
    },
    () => undefined,
    ['SIGTERM', 'SIGHUP'],
  );
  return follow && code === INTERRUPTED ? 0 : code;
}

/** The tokens of a subject that the options name; the wildcard without one. They throw UsageError. */
function profileToken(profile: string | undefined): string {
  if (profile === undefined || /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(profile)) return profile ?? '*';
  throw new UsageError(`--profile must be one word of letters, digits, "-" and "_", not "${profile}"`);
}

function typeToken(type: string | undefined): string {
  if (type === undefined || LifecycleEvent.safeParse(type).success) return type ?? '*';
  throw new UsageError(`--type must be one of ${LifecycleEvent.options.join(', ')}, not "${type}"`);
}

function connectionOf(values: Values<typeof eventsUsage.options>, env: NodeJS.ProcessEnv): BusConnection {
  const plan = values['as-is'] ? undefined : plannedFleet(values);
  const connection = plan
    ? connectionFromKeys(OPERATOR, plan.keysDir, plan.nats.url)
    : connectionFromEnv(OPERATOR, env);
  if (connection.pass !== '') return connection;
  const where = plan ? plan.keysDir : (env.HERMES_KEYS_DIR ?? 'the environment');
  throw new FleetError('PEER_UNREACHABLE', `the operator's NATS login is not in ${where}`);
}

/** Fields that every event of a task has (docs/events.md#the-body). */
const COMMON: ReadonlySet<string> = new Set([
  'task_id',
  'caller',
  'context_id',
  'root_id',
  'root_caller',
  'parent_task_id',
  'parent_profile',
]);

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

/** Time, profile, type, task and the fields of the event that say something, beyond those that every event has. */
function lineOf({ time, source, type, subject, data }: CloudEvent): string {
  const profile = source.replace(/^\/profiles\//, '').padEnd(8);
  const name = type.replace(/^dev\.hermes-fleet\.task\.(.+)\.v\d+$/, '$1').padEnd(14);
  const fields = Object.entries(data)
    .filter(([key, value]) => !COMMON.has(key) && !isEmpty(value))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [time, profile, name, subject ?? String(data.task_id), ...fields].join('  ');
}
