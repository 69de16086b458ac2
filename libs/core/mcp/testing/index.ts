export { type Client, callTool, connectMcp, connectStdio } from './client/client.ts';
export { connectOfficial, OFFICIAL_CLIENTS } from './client/official-clients.ts';
export { ENVELOPE, statelessRequest } from './client/stateless-request.ts';
