export { interpolate } from './interpolate.ts';
export { createSecretEnv, type SecretEnv } from './secret-env.ts';
export { loadYamlConfig, type YamlConfig } from './yaml-config.ts';
