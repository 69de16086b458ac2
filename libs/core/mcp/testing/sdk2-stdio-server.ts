/** A server on version 2 of the official SDK, as a child process. It speaks the revisions of 2025 and 2026-07-28. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { greeter2 } from './greeter2.ts';

serveStdio(greeter2);
