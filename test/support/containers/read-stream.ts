import { consume, inboxPrefix } from '@hermes-fleet/events';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { createSecretEnv } from '@hermes-fleet/service';

/** Runs in a container on the fleet's network: prints the events of the stream from its start, one a line. */
const keys = createSecretEnv(process.env);
const warn = (fields: object, message: string): void => console.error(message, JSON.stringify(fields));
await consume({
  connection: {
    servers: ['nats://nats:4222'],
    user: keys.read('NATS_USER') ?? '',
    pass: keys.read('NATS_PASSWORD') ?? '',
    name: 'test',
    inboxPrefix: inboxPrefix('operator'),
  },
  filter: 'fleet.task.>',
  fromStart: true,
  signal: new AbortController().signal,
  log: { debug() {}, info() {}, warn, error: warn },
  clock: systemClock,
  onEvent: (event) => console.log(JSON.stringify(event)),
});
