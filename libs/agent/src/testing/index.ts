export {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  type MessagesRequest,
  resultsOf,
  textOf,
  textsOf,
} from './anthropic-server.ts';
export {
  type Asked,
  type Bench,
  type BenchOptions,
  begin,
  type Call,
  hasEnded,
  holdTo,
  lastCheckpoint,
  needsScript,
  processesWith,
  type Row,
  runOn,
  type Script,
  type Subject,
  type Turn,
} from './conformance.ts';
export { END_ROWS } from './conformance-endings.ts';
export { GUARD_ROWS } from './conformance-guards.ts';
export { RESUME_ROWS } from './conformance-resume.ts';
export { HONESTY_ROWS } from './conformance-trust.ts';
export {
  block,
  makeAgent,
  makeContext,
  makeTask,
  makeToolContext,
  memoryTokens,
  type TestRun,
} from './harness.ts';
export { type ChatRequest, type Reply, scriptedServer } from './scripted-server.ts';
export { usersTree } from './tree.ts';
