// Workers that answer questions about the simulator, each with an instance of the module.

const MOST_WORKERS = 4;

class Workers {
  constructor() {
    this.idle = [];
    this.queue = [];
    this.later = [];
    this.count = 0;
  }

  /** The answer to a question, which depends on nothing else. */
  ask(question) {
    return new Promise((answered, refused) => {
      this.queue.push({ question, answered, refused });
      this.next();
    });
  }

  /** The same for a question that can wait until all others are answered; never, if it is not wanted any more. */
  askLater(question, isWanted) {
    return new Promise((answered, refused) => {
      this.later.push({ question, answered, refused, isWanted });
      this.next();
    });
  }

  next() {
    this.later = this.later.filter(({ isWanted }) => isWanted());
    if (this.queue.length + this.later.length === 0) return;
    const most = Math.min(MOST_WORKERS, Math.max(2, (navigator.hardwareConcurrency || 2) - 1));
    if (this.idle.length === 0 && this.count === most) return;
    const task = this.queue.shift() ?? this.later.shift();
    const worker = this.idle.pop() ?? new Worker(workerSource);
    if (!worker.isKnown) this.count += 1;
    worker.isKnown = true;
    const done = () => {
      this.idle.push(worker);
      this.next();
    };
    worker.onmessage = ({ data }) => {
      if (data.error === undefined) task.answered(data.answer);
      else task.refused(new Error(data.error));
      done();
    };
    compiled.then((module) => worker.postMessage({ is: "play", module, question: JSON.stringify(task.question) }));
  }
}

const workers = new Workers();

/** A place on the page that shows the latest of its questions; those that were overtaken are not asked. */
class Latest {
  /** `shown` is called with each answer, `refused` with an error. */
  constructor(shown, refused) {
    Object.assign(this, { shown, refused, wanted: null, isBusy: false });
  }

  ask(question) {
    this.wanted = question;
    if (!this.isBusy) this.run();
  }

  async run() {
    this.isBusy = true;
    while (this.wanted) {
      const question = this.wanted;
      this.wanted = null;
      try {
        this.shown(await workers.ask(question));
      } catch (error) {
        this.refused(error);
      }
    }
    this.isBusy = false;
  }
}
