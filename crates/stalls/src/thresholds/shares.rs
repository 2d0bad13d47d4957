//! Shares and multiples: how close is close, how often is often.
//!
//! `..._IN` is a divisor: one part in so many.

use super::origin::Origin;

thresholds! {
    SHARES;

    /// What is so many times as far off as the capture point blurs is further off than it can blur.
    BLUR_MARGIN: i64 = 3, Ratio, Origin::Fitted("the recordings with relays, and random captures that were looked at");
    /// A path that was measured once only may blur by one part in so many of its round trip.
    ONE_MEASURE_BLURS_IN: i64 = 4, Ratio, Origin::Assumed("a quarter: queues on a path add less most of the time");
    /// Two measures of a path may agree by accident: it blurs by one part in so many at least.
    TWO_MEASURES_BLUR_IN: i64 = 64, Ratio, Origin::Assumed("a sixteenth of ONE_MEASURE_BLURS_IN's share");
    /// The round trip of a path varies by one part in so many while nothing else is on its way.
    PATH_VARIES_IN: i64 = 8, Ratio, Origin::Assumed("half of ONE_MEASURE_BLURS_IN's share");
    /// The same where other segments come and go, so that an accident fits more often.
    BUSY_PATH_VARIES_IN: i64 = 32, Ratio, Origin::Fitted("random captures that were looked at");
    /// A path may have become so much shorter since a rough measure of it.
    EARLIER_BY_PERCENT: i64 = 30, Percent, Origin::Fitted("random captures that were looked at");
    /// What is off by more than one part in so many of the path's round trip did not leave upon the ACK.
    OFF_THE_PATH_IN: i64 = 2, Ratio, Origin::Assumed("the odds decide about what is less far off");
    /// What is off by more than one part in so many of the wait did not leave upon the ACK.
    OFF_THE_WAIT_IN: i64 = 10, Ratio, Origin::Assumed("the odds decide about what is less far off");
    /// How many times a distance counts from the second place where the release may be, because an accident fits one
    /// of two places twice as often.
    SECOND_PLACE: i64 = 2, Ratio, Origin::Fact("probability: two places to look at");
    /// How many times it counts from a third place.
    THIRD_PLACE: i64 = 4, Ratio, Origin::Fact("probability: four, because the third place only bounds the distance");
    /// Most frames meet no queue: one part in so many of the blur is tried, too, at twice the probability.
    CLOSER_LOOK_IN: i64 = 4, Ratio, Origin::Fitted("random captures that were looked at");
    /// A link's pace is another one if it differs by so many times.
    ANOTHER_PACE: u64 = 4, Ratio, Origin::Assumed("queues change the pace of one link by less");
    /// So many hits tell what most of them are like.
    ENOUGH_HITS: u32 = 4, Count, Origin::Assumed("the fewest of which three in four can be counted");
    /// That share of them is most of them.
    MOSTLY_PERCENT: u32 = 75, Percent, Origin::Assumed("a host is busy now and then");
    /// The share of the hits that are a habit, in parts of HABIT_WHOLE.
    HABIT_PARTS: u32 = 2, Ratio, Origin::Assumed("two of three: the last one has a reason of its own");
    /// Into how many parts the hits are divided for that.
    HABIT_WHOLE: u32 = 3, Ratio, Origin::Assumed("two of three: the last one has a reason of its own");
    /// So many widths looser than the habit, each twice the one before, is no longer the habit.
    LOOSER_WIDTHS: usize = 2, Count, Origin::Fitted("random captures that were looked at: four times as loose");
    /// A sender with so many hits for each miss hardly ever leaves its habit.
    HITS_PER_MISS: u32 = 8, Ratio, Origin::Fitted("random captures that were looked at");
    /// Data that follows ACKs varies by no more than one part in so many of what the ACKs vary by.
    FOLLOWS_ACKS_IN: u32 = 4, Ratio, Origin::Fitted("captures judged by hand");
    /// A clock of the sender's own varies by less than one part in so many of what its distance to the ACKs varies by.
    OWN_CLOCK_IN: i64 = 2, Ratio, Origin::Fitted("captures judged by hand");
    /// An ACK that is later than the path by less than one part in so many of it came as soon as the path allows,
    /// unless it is on a timer.
    PROMPT_IN: i64 = 4, Ratio, Origin::Assumed("as much as a path that was measured once may blur");
    /// ACKs of one timer differ by less than one part in so many.
    SAME_TIMER_IN: i64 = 10, Ratio, Origin::Assumed("a tick of 4 ms in 40 ms");
    /// So many ACKs, or fewer, do not tell how long a path is.
    FEW_ACKS: u32 = 3, Count, Origin::Assumed("all of them may be late");
    /// ACKs that no receiver may delay come in less than one part in so many of a delay.
    UNDELAYED_IN: i64 = 2, Ratio, Origin::Assumed("half");
    /// An answer within so many times the path answers the segment before it.
    ANSWER_PATHS: i64 = 4, Ratio, Origin::Assumed("the round trip, a queue both ways, and a lookup");
    /// An answer is as soon as usual within so much of the time that answers take on average.
    USUAL_ANSWER_PERCENT: i64 = 150, Percent, Origin::Assumed("times of answers scatter by half");
    /// A smoothed round trip is longer than the handshake's by one part in so many.
    SMOOTHED_RTT_IN: i64 = 4, Ratio, Origin::Assumed("as much as a path that was measured once may blur");
    /// So many ticks late a timer ends at most.
    TICKS_LATE: i64 = 3, Count, Origin::Assumed("one to round up, and a processor that is busy for two");
    /// What a timer let go, an ACK did not: that came before the last so manieth part of the wait.
    ACK_BEFORE_IN: i64 = 4, Ratio, Origin::Assumed("a quarter of 200 ms is longer than a delayed ACK of Linux");
    /// A wait is a round trip if it is off by less than one part in so many of one.
    A_ROUND_TRIP_IN: i64 = 2, Ratio, Origin::Assumed("nearer to one than to none or two");
    /// A clock counts if nine of ten gaps are equal.
    EQUAL_GAPS_PERCENT: u64 = 90, Percent, Origin::Assumed("frames that leave together share a time now and then");
    /// Or two of three of the long ones: the gaps that are equal, in parts of LONG_GAPS_WHOLE.
    LONG_GAPS_PARTS: u64 = 2, Ratio, Origin::Assumed("a program's own clock makes long gaps equal, too");
    /// Into how many parts the long gaps are divided for that.
    LONG_GAPS_WHOLE: u64 = 3, Ratio, Origin::Assumed("a program's own clock makes long gaps equal, too");
    /// A connection with more than one gap for so many segments has too many frames missing.
    GAPPY_IN: u64 = 10, Ratio, Origin::Assumed("a hold needs some ten segments to be judged");
    /// What takes one part in so many of the connections' time is worth the first line.
    DOMINANT_IN: i64 = 3, Ratio, Origin::Assumed("a third");
}
