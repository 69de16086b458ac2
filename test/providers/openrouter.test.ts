import { playTopic } from './play.ts';

playTopic('openrouter');
