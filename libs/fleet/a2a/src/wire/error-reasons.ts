import type { ErrorCode } from '@hermes-fleet/protocol';

/** The `reason` of google.rpc.ErrorInfo for each error that A2A defines: stock clients know these names. */
export const A2A_REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  TASK_NOT_FOUND: 'TASK_NOT_FOUND',
  TASK_NOT_CANCELABLE: 'TASK_NOT_CANCELABLE',
  PUSH_NOT_SUPPORTED: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
  UNSUPPORTED_OPERATION: 'UNSUPPORTED_OPERATION',
  CONTENT_TYPE_NOT_SUPPORTED: 'CONTENT_TYPE_NOT_SUPPORTED',
  VERSION_NOT_SUPPORTED: 'VERSION_NOT_SUPPORTED',
};
