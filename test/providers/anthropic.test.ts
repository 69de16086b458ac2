import { playTopic } from './play.ts';

playTopic('anthropic');
