export { recordingLog } from '@hermes-fleet/protocol/testing';
export { openConnection } from '../src/connection/connection.ts';
export { idsAt, setUpCluster, wholeCluster } from './cluster-bus.ts';
export { startNatsCluster } from './nats-cluster.ts';
export { natsProcess } from './nats-process.ts';
export { type NatsServer, startNatsServer } from './nats-server.ts';
