# syntax=docker/dockerfile:1
# docker build -t calcert .                        CPU
# docker build -t calcert:gpu --build-arg RUNTIME=gpu .
ARG PYTHON=3.12

FROM python:${PYTHON}-slim-bookworm AS build
ARG RUNTIME=cpu
WORKDIR /src
RUN python -m venv /opt/calcert
# the dependencies change less often than the code: a layer of their own
COPY pyproject.toml README.md LICENSE ./
COPY tokenizer/__init__.py tokenizer/
COPY models/__init__.py models/
COPY service/__init__.py service/
RUN --mount=type=cache,target=/root/.cache/pip /opt/calcert/bin/pip install ".[${RUNTIME}]"
COPY tokenizer tokenizer
COPY models models
COPY service service
RUN /opt/calcert/bin/pip install --no-deps --force-reinstall ".[${RUNTIME}]"

FROM python:${PYTHON}-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home calcert
COPY --from=build /opt/calcert /opt/calcert
ENV PATH=/opt/calcert/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CALCERT_HOST=0.0.0.0 \
    CALCERT_LOG_FORMAT=json
USER calcert
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
CMD ["calcert", "serve"]
