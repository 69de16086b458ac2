import { playTopic } from './play.ts';

playTopic('google');
