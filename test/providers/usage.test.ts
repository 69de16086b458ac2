import { playTopic } from './play.ts';

playTopic('usage');
