# syntax=docker/dockerfile:1
# docker build -t calcert .                       CPU
# docker build -t calcert:gpu --target gpu .      NVIDIA GPU: docker run --gpus all -p 8000:8000 calcert:gpu
ARG PYTHON=3.12

FROM python:${PYTHON}-slim-bookworm AS source
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY tokenizer tokenizer
COPY models models
COPY service service

FROM python:${PYTHON}-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/calcert
# the dependencies change less often than the code: a layer of their own
COPY pyproject.toml README.md LICENSE ./
COPY tokenizer/__init__.py tokenizer/
COPY models/__init__.py models/
COPY service/__init__.py service/

FROM build AS build-cpu
RUN --mount=type=cache,target=/root/.cache/pip /opt/calcert/bin/pip install ".[cpu]"
COPY --from=source /src /src
RUN /opt/calcert/bin/pip install --no-deps --force-reinstall .

FROM build AS build-gpu
# with the CUDA libraries as wheels: the host brings the driver and nothing else
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/calcert/bin/pip install ".[gpu]" "onnxruntime-gpu[cuda,cudnn]"
COPY --from=source /src /src
RUN /opt/calcert/bin/pip install --no-deps --force-reinstall .

FROM python:${PYTHON}-slim-bookworm AS runtime
RUN useradd --system --uid 10001 --no-create-home calcert
ENV PATH=/opt/calcert/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MPLCONFIGDIR=/tmp/matplotlib \
    CALCERT_HOST=0.0.0.0 \
    CALCERT_LOG_FORMAT=json
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ.get(\"CALCERT_PORT\", \"8000\")}/health/ready', timeout=2)"]
CMD ["calcert", "serve"]

FROM runtime AS gpu
ENV CALCERT_DEVICE=cuda
COPY --from=build-gpu /opt/calcert /opt/calcert

# the last stage is what a build without --target gives
FROM runtime AS cpu
COPY --from=build-cpu /opt/calcert /opt/calcert
