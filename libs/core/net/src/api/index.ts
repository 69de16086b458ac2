export {
  type ApiClient,
  type ApiClientOptions,
  createApiClient,
  csvPages,
  PAGE,
  type Refusal,
  type Service,
} from './client.ts';
export type { Read } from './readable.ts';
