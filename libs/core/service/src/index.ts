export {
  type Authenticator,
  type CallerSecret,
  createAuthenticator,
  type FindCaller,
  PEER_SCOPES,
  requireScope,
} from './auth.ts';
export { interpolate } from './config/interpolate.ts';
export { createSecretEnv, type SecretEnv } from './config/secret-env.ts';
export { loadYamlConfig, type YamlConfig } from './config/yaml-config.ts';
export type { Host } from './host.ts';
export { type AppOptions, createApp, isAnonymous } from './http/app.ts';
export { type ConnectionLimits, limitConnections } from './http/connections.ts';
export { type ErrorBody, errorBody, translateError } from './http/errors.ts';
export { bodyText, checkNesting, parseBody, takeJsonAsText } from './http/json-body.ts';
export type { Readiness } from './http/probes.ts';
export { sendHead } from './http/send-head.ts';
export type { ListenerTls } from './http/tls-listener.ts';
export { continueTrace, type Trace } from './http/trace.ts';
export { createLogger, type LoggerOptions } from './logger.ts';
export { type Build, recordBuild } from './metrics/build.ts';
export { readDisk } from './metrics/disk.ts';
export { MEMBER_FAMILIES, PROCESS_FAMILIES } from './metrics/families.ts';
export { type Families, type Family, kindOf, type Readers, type Reading } from './metrics/family.ts';
export { createMetrics, createRegistry, type FleetMetrics, type MetricsOptions } from './metrics/metrics.ts';
export { createRecorder, type Recorder } from './metrics/recorder.ts';
export { onShutdown, type ShutdownOptions, type ShutdownStep } from './shutdown.ts';
export { openTracing } from './tracing/open-tracing.ts';
export type { OpenTracing, TracingOptions } from './tracing/otlp-tracing.ts';
