/** The hours of the day, for labels and for charts without holes. */
import type { AnalyticsView } from './analytics-view.ts'
import { number, text } from './view-columns.ts'

const hours = Array.from({ length: 24 }, (_, hour) => hour)

function partOfDay(hour: number): string {
  if (hour < 6) return 'night'
  if (hour < 12) return 'morning'
  return hour < 18 ? 'afternoon' : 'evening'
}

export const dimHour: AnalyticsView = {
  note: 'The 24 hours of the day. The same for all projects.',
  caveat: null,
  key: ['hour'],
  columns: {
    hour: number('0 to 23'),
    label: text('its beginning, such as 09:00'),
    part_of_day: text('night, morning, afternoon or evening: six hours each from midnight on'),
  },
  select: () =>
    hours
      .map((hour) => {
        const label = `${String(hour).padStart(2, '0')}:00`
        return `
    select ${hour} as hour, '${label}' as label, '${partOfDay(hour)}' as part_of_day`
      })
      .join(' union all'),
}
