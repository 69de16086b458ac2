export { type LogEntry, type RecordingLog, recordingLog } from '@hermes-fleet/protocol/testing';
export { openConnection } from '../connection/connection.ts';
export { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
