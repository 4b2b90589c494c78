/** Data of a report: a test names what it is about, the rest is a quiet week. */
import { chooseReportPeriod } from '../../../src/analytics/core/report-period.ts'
import type { ReportData } from '../../../src/analytics/sql/report-data.ts'
import type { ReportNumbers } from '../../../src/analytics/sql/report-periods.ts'

/** Its parts add up, as the views promise. */
export function periodData(over: Partial<ReportNumbers> = {}): ReportNumbers {
  return {
    counts: {
      started: 8,
      incomplete: 0,
      aiOnly: 3,
      humanAndAi: 1,
      waits: 10,
      answeredByHuman: 5,
      answeredByAi: 3,
      closedWithoutAnswer: 1,
      ongoingWaits: 1,
      visitorMessages: 14,
      humanMessages: 9,
      aiMessages: 6,
      opened: 8,
      reopenings: 1,
      handlings: 7,
    },
    levels: { openAtEnd: 5, waitingAtEnd: 2 },
    responseTimes: [
      {
        which: 'first',
        clock: 'human',
        hours: 'all',
        answers: 4,
        medianSeconds: 90,
        p90Seconds: 600,
      },
      {
        which: 'first',
        clock: 'human',
        hours: 'business',
        answers: 4,
        medianSeconds: 60,
        p90Seconds: 300,
      },
    ],
    agents: [
      {
        name: 'Ann',
        messages: 9,
        conversations: 4,
        answers: 5,
        medianSeconds: 80,
        p90Seconds: 500,
      },
    ],
    calls: {
      calls: 4,
      callers: 3,
      withRecording: 1,
      withLength: 3,
      seconds: 600,
      medianSeconds: 180,
    },
    targets: [
      {
        name: 'first answer',
        targetSeconds: 900,
        hours: 'business',
        waits: 8,
        met: 6,
        missed: 2,
        open: 0,
        without: 0,
        metShare: 6 / 8,
      },
    ],
    ...over,
  }
}

export function reportData(over: Partial<ReportData> = {}): ReportData {
  return {
    period: chooseReportPeriod({}, '2026-11-18'),
    today: '2026-11-18',
    project: {
      timeZone: 'Europe/Berlin',
      mirroredSince: '2026-01-01T00:00:00Z',
      asOf: '2026-11-18T08:00:00Z',
      callsAsOf: '2026-11-18T08:00:00Z',
      factsDue: 0,
      isRebuilding: false,
    },
    firstDate: '2026-01-02',
    firstCallDate: '2026-01-02',
    mirroredFrom: '2026-01-01',
    hasBusinessHours: true,
    current: periodData(),
    before: periodData(),
    days: [],
    hours: [],
    queue: { open: 0, waiting: 0, longest: [] },
    serviceDifference: null,
    quality: [],
    streams: [],
    ...over,
  }
}

export const now = Date.UTC(2026, 10, 18, 9)

/** What a name or a message could contain to break out of a page. */
export const hostileTexts = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title></style></svg><b>bold</b>',
  'Ann | 999 | [click](https://evil.example) ![x](https://evil.example/x.png)',
  '`code` *strong* _it_ ~~no~~ # heading',
  'line one\nline two\r\n| cell |',
  'right to left \u202eevil\u202c',
  'https://evil.example www.evil.example @everyone &lt;b&gt;',
  'back\\slash \\| pipe',
  'lone \ud800 surrogate',
] as const
