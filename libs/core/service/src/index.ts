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
export { type Build, registerBuild } from './metrics/build.ts';
export { registerCertificates } from './metrics/certificates.ts';
export { registerCircuits } from './metrics/circuits.ts';
export { registerDisk } from './metrics/disk.ts';
export { createMetrics, type FleetMetrics, type MetricsOptions } from './metrics/metrics.ts';
export { onShutdown, type ShutdownOptions, type ShutdownStep } from './shutdown.ts';
export { openTracing } from './tracing/open-tracing.ts';
export type { OpenTracing, TracingOptions } from './tracing/otlp-tracing.ts';
