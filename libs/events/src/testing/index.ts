export { openConnection } from '../connection/connection.ts';
export { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
export { type LogEntry, type RecordingLog, recordingLog } from './observe.ts';
