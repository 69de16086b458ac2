export {
  type ApiClient,
  type ApiClientOptions,
  createApiClient,
  csvPages,
  PAGE,
} from './client.ts';
export type { Read } from './readable.ts';
export type { Refusal } from './refusal.ts';
export type { Service } from './service.ts';
